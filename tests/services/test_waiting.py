"""The page says why nothing begins."""

from campaigns.permissions import NOBODY, Actor
from campaigns.queries.engine import waiting_reason
from campaigns.services import dispatch
from tests.factories import make_endpoint, make_target
from tests.services.engine import draft, host, owner_of, started


def test_it_says_that_no_injector_answers_and_how_to_start_one(project):
    assert "make run and docker compose up -d start one" in waiting_reason(started(project))


def test_it_says_how_many_injectors_are_missing(project):
    campaign = started(project, injectors=2)
    host(slots=1)
    assert "needs 2 injector slots at once, but there are only 1" in waiting_reason(campaign)


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


def test_it_says_that_all_are_busy(project):
    host(slots=1)
    started(project)
    dispatch.admit_runs()
    assert waiting_reason(started(project)) == "All injector slots are in use (1 of 1)."


def test_a_draft_waits_for_nobody(project):
    assert waiting_reason(draft(project)) == ""
