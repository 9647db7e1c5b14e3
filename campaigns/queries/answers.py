"""A campaign's answer, read from the summaries of its finished runs.

No permission is checked in here: callers pass rows that they found with visible_to.
"""

from campaigns.domain.results import Answer, OverheadAnswer, SplitAnswer, TestAnswer
from campaigns.models import Campaign
from campaigns.queries.reports import run_report

__all__ = ["Answer", "OverheadAnswer", "SplitAnswer", "TestAnswer", "campaign_answer", "run_report"]


def campaign_answer(campaign: Campaign) -> Answer:
    """The verdict in words, a table per test and an overhead per pair of HTTP and HTTPS tests."""
    raise NotImplementedError
