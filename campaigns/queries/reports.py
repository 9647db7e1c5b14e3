"""One run's report: finished runs from their summary, running ones from their seconds so far."""

from campaigns.domain.results import RunReport
from campaigns.models import Run


def run_report(run: Run) -> RunReport:
    """What the run page says and shows."""
    raise NotImplementedError
