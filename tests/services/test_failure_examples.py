"""Examples of failures: stored with their second, without secrets, once, and gone with the run."""

import pytest

from campaigns.models import FailureExample, Run, ShareLink
from campaigns.permissions import Actor
from campaigns.queries.runs import examples_of
from campaigns.services.shards import record_seconds
from tests.services.engine import running, second

pytestmark = pytest.mark.django_db
KEY = ("add", "status_unexpected", 404)


def with_examples(number: int, **fields) -> dict:
    example = {
        "kind": "status_unexpected",
        "status": 404,
        "at_us": number * 1_000_000,
        "request": "GET /x?token=t0p HTTP/1.1\nAuthorization: Basic YTpi",
        "reply": "404 Not Found\nSet-Cookie: id=77\n\n<b>no</b>\x00",
        "body_bytes": 10,
        "detail": "",
    }
    return second(number) | {"examples": [example | fields]}


def test_examples_are_stored_without_secrets_even_if_the_injector_left_them(project, alice):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[with_examples(0)])
    ((example,),) = examples_of(Actor(user=alice), run=run).values()
    assert example.request == "GET /x?token=[hidden] HTTP/1.1\nAuthorization: [hidden]"
    assert example.reply == "404 Not Found\nSet-Cookie: id=[hidden]\n\n<b>no</b>\\x00"


def test_the_same_second_twice_changes_nothing(project):
    run, (lease,) = running(project)
    for _ in range(2):
        record_seconds(lease=lease, seconds=[with_examples(0), with_examples(1)])
    assert run.failure_examples.count() == 2


def test_at_most_three_of_a_kind_are_shown_the_first_and_the_last_among_them(project, alice):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[with_examples(number) for number in range(7)])
    found = examples_of(Actor(user=alice), run=run)
    assert [each.second for each in found[KEY]] == [0, 3, 6]


def test_an_injector_without_examples_is_as_good(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[second(0)])
    assert not run.failure_examples.exists()


def test_strangers_and_visitors_of_a_link_see_none(project, charlie):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[with_examples(0)])
    link = ShareLink(project=project, run=run)
    for actor in (Actor(user=charlie), Actor(share=link)):
        assert examples_of(actor, run=run) == {}


def test_examples_go_with_their_run(project):
    run, (lease,) = running(project)
    record_seconds(lease=lease, seconds=[with_examples(0)])
    Run.objects.filter(pk=run.pk).delete()
    assert not FailureExample.objects.exists()
