"""What happens becomes an event in its own transaction, and each event one message to each channel
that wants it. A message has the sentence, its interval and a link."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.engine.services.dispatch import finish_campaigns
from campaigns.history.services import make_baseline, note_changes
from campaigns.items.services import delete_items
from campaigns.models import Campaign, Exporter, LoadControl, Membership, Probe, Search, TestFigures
from campaigns.notifications import delivery
from campaigns.notifications.domain import EventKind
from campaigns.notifications.models import (
    Event,
    NotificationChannel,
    NotificationDelivery,
)
from campaigns.runs.services import keep_figures
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
    make_user,
)
from tests.histories import make_history
from tests.measured import measure
from tests.notifications.scenes import make_channel

pytestmark = pytest.mark.django_db(transaction=True)
CALM, SLOWER = (10_000, 10_100, 9_900), (12_000, 12_100, 11_900)


@pytest.fixture
def channel(project):
    return make_channel(project)


@pytest.fixture
def measure_next(project, alice):
    """Ends another campaign of the same test, with a run of each of these averages, µs."""
    same = {"version": make_plan(project), "endpoint": make_endpoint(make_target(project))}
    numbers = iter(range(100))

    def measure_next(*values_us: int, name="Nightly"):
        at = timezone.now() - timedelta(days=30 - next(numbers))
        campaign = make_campaign(project, name, started_at=at, created_by=alice)
        test = make_test(campaign, **same)
        for repeat, value in enumerate(values_us, 1):
            measure(make_run(test, repeat=repeat), value)
        keep_figures([test.pk])
        finish_campaigns()
        return test

    return measure_next


def announce() -> list[tuple[str, str]]:
    """Announce what there is; kind and headline of each event that was delivered."""
    while delivery.announce_events():
        pass
    rows = NotificationDelivery.objects.order_by("pk").select_related("event")
    return [(each.event.kind, each.event.message["headline"]) for each in rows]


def end(campaign: Campaign) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=timezone.now())


def end_new(project, name: str = "", **fields) -> Campaign:
    campaign = make_campaign(project, name, started_at=timezone.now(), **fields)
    make_test(campaign)
    end(campaign)
    return campaign


def test_an_end_is_told_with_its_sentence_and_link(channel, measure_next):
    test = measure_next(*CALM)
    ((kind, headline),) = announce()
    assert kind == EventKind.ENDED
    assert headline.startswith("Nightly: ")
    assert "takes 10.0\u202fms" in headline
    message = NotificationDelivery.objects.get().event.message
    assert message["url"] == f"{settings.SITE_URL}/campaigns/{test.campaign_id}/"
    assert message["data"]["campaign"]["name"] == "Nightly"


def test_a_regression_is_told_once_with_its_interval_and_then_that_it_recovered(
    project, channel, measure_next, alice
):
    test = measure_next(*CALM, name="first")
    make_baseline(by=Actor(user=alice), project=project, name="1.4", tests=[test])
    for values in (SLOWER, SLOWER, CALM, CALM):
        measure_next(*values)
    kinds = [kind for kind, _ in announce()]
    assert kinds == [
        EventKind.ENDED,
        EventKind.REGRESSION,
        EventKind.ENDED,
        EventKind.RECOVERED,
        EventKind.ENDED,
    ]
    regression = Event.objects.get(kind=EventKind.REGRESSION).message
    assert "slower than baseline “1.4” (" in regression["headline"]
    (test_row,) = regression["data"]["tests"]
    change = test_row["change"]
    assert 0 < change["low"] < change["estimate"] < change["high"] < 1


def test_a_search_that_finds_less_than_its_baseline_is_a_regression_once(project, channel):
    same = {"version": make_plan(project), "endpoint": make_endpoint(make_target(project))}
    for hours, word in ((4, "takes more"), (3, "takes less"), (2, "takes less")):
        campaign = make_campaign(project, "Capacity", started_at=timezone.now())
        make_test(campaign, **same)
        against = {"baseline": "1.4", "metric": "capacity", "word": word, "why": ""}
        Search.objects.create(
            campaign=campaign,
            start_per_s=1,
            limit_per_s=9,
            trial_s=5,
            ending="found",
            against={**against, "ratio": 1.2, "low": 1.1, "high": 1.3},
        )
        at = timezone.now() - timedelta(hours=hours)
        Campaign.objects.filter(pk=campaign.pk).update(finished_at=at)
    kinds = [kind for kind, _ in announce()]
    assert kinds == [EventKind.NO_RESULT, EventKind.REGRESSION, EventKind.NO_RESULT]
    assert "takes less" in Event.objects.get(kind=EventKind.REGRESSION).message["headline"]


def test_what_moved_with_the_reference_is_no_regression(project, channel, measure_next, alice):
    test = measure_next(*CALM)
    make_baseline(by=Actor(user=alice), project=project, name="1.4", tests=[test])
    announce()
    NotificationDelivery.objects.all().delete()
    test = measure_next(*SLOWER)
    figures = TestFigures.objects.get(pk=test.pk)
    figures.against["reference"] = "moved"
    figures.save()
    assert [kind for kind, _ in announce()] == [EventKind.ENDED]


def test_a_change_of_level_and_the_end_that_found_it_are_one_message(project, channel):
    levels = [26.0, 26.2, 25.8, 26.1, 25.9, 26.0, 26.3, 25.7, *(28.5, 28.6, 28.4, 28.7, 28.3, 28.5)]
    (test,) = make_history(project, levels, begin=timezone.now() - timedelta(days=20))
    Campaign.objects.filter(pk=test.campaign_id).update(finished_at=None)
    assert finish_campaigns() == 1
    assert Event.objects.count() == 2
    ((kind, headline),) = announce()
    assert kind == EventKind.REGRESSION
    assert "+9." in headline
    assert "[" in headline
    assert not Event.objects.filter(announced_at=None).exists()


def test_an_end_without_a_usable_result_says_why(channel, project, alice):
    end_new(project, "Nightly")
    assert announce() == [(EventKind.NO_RESULT, "Nightly ended without a usable result.")]


def test_whoever_stopped_it_is_not_told_that_it_has_no_result(channel, project, alice):
    end_new(project, stop_requested_by=alice)
    assert [kind for kind, _ in announce()] == [EventKind.ENDED]


def test_a_hold_says_what_to_decide_and_until_when(channel, project):
    campaign = make_campaign(project, "Nightly", started_at=timezone.now())
    make_test(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(opened_at=None, held_at=timezone.now())
    ((kind, headline),) = announce()
    assert kind == EventKind.ON_HOLD
    assert headline.startswith("Nightly needs a decision: ")
    assert "unless somebody decides" in dict(Event.objects.get().message["facts"])["Canceled at"]


def test_a_second_end_after_more_blocks_is_told_again(channel, project):
    campaign = end_new(project)
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=None)
    end(campaign)
    assert len(announce()) == 2


def test_an_end_that_is_undone_is_not_told(channel, project):
    campaign = make_campaign(project, started_at=timezone.now())
    with transaction.atomic():
        end(campaign)
        transaction.set_rollback(True)
    assert not Event.objects.exists()


def test_nothing_is_written_where_nobody_wants_to_know(project):
    end_new(project)
    make_channel(make_project())
    end_new(project)
    assert not Event.objects.exists()


def test_a_fault_in_the_words_keeps_no_message_back(channel, project, monkeypatch):
    def fail(_):
        raise KeyError("a bug")

    monkeypatch.setattr(delivery, "announcement_of", fail)
    end_new(project, "Nightly")
    assert announce() == [(EventKind.ENDED, "Nightly has ended.")]


def test_what_is_in_the_trash_is_not_told(channel, project, as_alice):
    campaign = end_new(project)
    delete_items(by=as_alice, items=[Campaign.objects.get(pk=campaign.pk)])
    assert announce() == []
    assert not Event.objects.filter(announced_at=None).exists()


@pytest.mark.parametrize(
    ("kinds", "n_messages"),
    [
        ([EventKind.ENDED], 1),
        ([EventKind.NO_RESULT], 1),
        ([EventKind.ENDED, EventKind.NO_RESULT], 1),
        ([EventKind.AGENT], 0),
    ],
)
def test_a_channel_gets_what_it_chose_once(project, kinds, n_messages):
    make_channel(project, kinds=[str(kind) for kind in kinds])
    end_new(project)
    assert len(announce()) == n_messages


def test_a_person_is_told_of_campaigns_that_they_created_while_they_are_members(
    project, alice, bob, charlie
):
    for user in (alice, bob, charlie):
        make_channel(user=user, label=user.username)
    for creator in (alice, charlie):  # charlie is no member
        end_new(project, created_by=creator)
    announce()
    assert [each.channel.label for each in NotificationDelivery.objects.all()] == ["alice"]
    Membership.objects.filter(user=alice).delete()
    end_new(project, created_by=alice)
    assert len(announce()) == 1


def test_a_paused_channel_gets_nothing_of_what_happens_meanwhile(channel, project):
    NotificationChannel.objects.update(paused_at=timezone.now())
    end_new(project)
    assert announce() == []


@pytest.fixture
def agent(project):
    url = "http://10.0.0.5:9800/metrics"
    target = make_target(project, "shop")
    return Exporter.objects.create(target=target, name="shop-1", url=url, told_at=timezone.now())


def answers(agent: Exporter, problem_s_ago: float | None) -> None:
    """Or has had a problem for so long."""
    at = problem_s_ago and timezone.now() - timedelta(seconds=problem_s_ago)
    problem = "" if at is None else "It refuses connections."
    Exporter.objects.filter(pk=agent.pk).update(problem=problem, problem_at=at)


def test_an_agent_is_told_of_when_it_falls_silent_and_when_it_is_back(channel, agent):
    for problem_s_ago in (None, 10, delivery.SILENT_AFTER_S + 5, "still", None, None):
        if problem_s_ago != "still":
            answers(agent, problem_s_ago)
        delivery.note_silent_agents()
    headlines = [headline for _, headline in announce()]
    assert len(headlines) == 2
    assert headlines[0].startswith("shop-1, a machine of shop, has not answered for 3 min")
    assert headlines[1] == "shop-1, a machine of shop, answers again."


def test_agents_that_fell_silent_before_anybody_asked_stay_so(channel, agent):
    answers(agent, delivery.FORGOTTEN_AFTER_S + 60)
    ago = timezone.now() - timedelta(seconds=delivery.FORGOTTEN_AFTER_S + 60)
    Exporter.objects.update(told_at=ago)
    assert delivery.note_silent_agents() == 0


def test_while_load_is_off_nobody_is_silent(channel, agent):
    answers(agent, delivery.SILENT_AFTER_S + 5)
    LoadControl.objects.update_or_create(pk=1, defaults={"is_on": False, "reason": "A deploy."})
    assert delivery.note_silent_agents() == 0


@pytest.mark.parametrize(("days", "is_told"), [(13.5, True), (15, False), (-1, False)])
def test_a_certificate_that_expires_within_two_weeks_is_told_once(channel, project, days, is_told):
    endpoint = make_endpoint(make_target(project, "shop"), "https")
    until = timezone.now() + timedelta(days=days)
    for _ in range(2):
        Probe.objects.create(
            endpoint=endpoint,
            request={},
            finished_at=timezone.now(),
            result={"certificates": [{"not_after": until.isoformat()}]},
        )
        delivery.note_expiring_certificates()
    headlines = [headline for _, headline in announce()]
    assert len(headlines) == is_told
    assert all("expires in 13 days" in each for each in headlines)


def test_a_renewed_certificate_is_told_of_when_it_expires(channel, project):
    endpoint = make_endpoint(make_target(project), "https")
    for days in (3, 10):
        until = timezone.now() + timedelta(days=days)
        result = {"certificates": [{"not_after": until.isoformat()}]}
        Probe.objects.create(
            endpoint=endpoint, request={}, finished_at=timezone.now(), result=result
        )
        delivery.note_expiring_certificates()
    assert len(announce()) == 2


def test_a_person_who_watches_agents_is_told_of_those_of_their_projects(agent):
    member, stranger = make_user(), make_user()
    Membership.objects.create(project=agent.target.project, user=member, role="viewer")
    for user in (member, stranger):
        make_channel(user=user, label=user.username)
    answers(agent, delivery.SILENT_AFTER_S + 5)
    delivery.note_silent_agents()
    announce()
    assert [each.channel.user for each in NotificationDelivery.objects.all()] == [member]


def test_old_events_are_forgotten(channel, project):
    end_new(project)
    announce()
    Event.objects.update(at=timezone.now() - timedelta(days=91))
    delivery.forget_old_events()
    assert not NotificationDelivery.objects.exists()


def test_a_change_that_late_measurements_show_is_a_message_of_its_own(project, channel):
    up, down = (
        [26.0, 26.2, 25.8, 26.1, 25.9, 26.0, 26.3, 25.7],
        [28.5, 28.6, 28.4, 28.7, 28.3, 28.5],
    )
    same = [(make_plan(project), make_endpoint(make_target(project)), "new")]
    begin = timezone.now() - timedelta(days=40)
    (test,) = make_history(project, [*up, *down], tests=same, begin=begin)
    assert note_changes(campaign_id=test.campaign_id) == 1
    later = begin + timedelta(days=14)
    (test,) = make_history(project, up, tests=same, begin=later)
    assert note_changes(campaign_id=test.campaign_id) == 1
    (slower, faster) = announce()
    assert (slower[0], faster[0]) == (EventKind.REGRESSION, EventKind.RECOVERED)
    assert "p95 26.0" in slower[1]
    assert slower[1].endswith("slower.")
    assert faster[1].endswith("faster.")
    message = Event.objects.get(kind=EventKind.REGRESSION).message
    assert message["url"] == f"{settings.SITE_URL}/projects/{project.pk}/triage/"
    (row,) = message["data"]["tests"]
    assert 0 < row["change"]["low"] < row["change"]["estimate"] < row["change"]["high"]
