"""The page says why nothing begins."""

from campaigns.permissions import NOBODY, Actor
from campaigns.queries.engine import waiting_reason
from campaigns.services import dispatch
from tests.factories import make_endpoint, make_target
from tests.services.engine import draft, host, owner_of, started


def test_it_says_which_run_has_the_target(project):
    host(slots=4)
    target = make_target(project)
    endpoint = make_endpoint(target)
    first = started(project, endpoint=endpoint)
    second = started(project, endpoint=endpoint)
    dispatch.admit_runs()
    assert waiting_reason(second, owner_of(project)) == (
        "Waits for run 1 of \u201cstudy\u201d on 127.0.0.1."
    )
    assert waiting_reason(first) == ""


def test_it_names_no_campaign_that_the_reader_may_not_see(project, charlie):
    host(slots=4)
    endpoint = make_endpoint(make_target(project))
    started(project, endpoint=endpoint)
    second = started(project, endpoint=endpoint)
    dispatch.admit_runs()
    for stranger in (Actor(user=charlie), NOBODY):
        assert waiting_reason(second, stranger) == (
            "Waits for another campaign's run on 127.0.0.1."
        )


def test_a_draft_waits_for_nobody(project):
    assert waiting_reason(draft(project)) == ""
