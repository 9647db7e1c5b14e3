"""Schedules start copies of a campaign once each time that they are due, or say why not."""

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.domain.errors import ChangedMeanwhile, Forbidden, InvalidFields, Refused
from campaigns.domain.typed_text import version_token
from campaigns.items.services import archive_items, delete_items, restore_items
from campaigns.models import AuditEntry, Campaign, Firing, Membership, Schedule, TestFigures
from campaigns.notifications.domain import EventKind
from campaigns.notifications.models import Event
from campaigns.operations.services.load_control import stop_all_load_from_console
from campaigns.schedules import services
from campaigns.schedules.services import (
    content_of,
    create_schedule,
    delete_schedule,
    edit_schedule,
    fire_due,
    forget_old_firings,
    note_silence,
    run_now,
    switch_schedule,
)
from tests.engine.scenes import at_once, draft, owner_of
from tests.factories import make_project
from tests.kept_rows import undone
from tests.waiting import eventually
from workers.dispatching import Dispatcher

pytestmark = pytest.mark.django_db
EVENING = datetime(2026, 11, 1, 20, tzinfo=UTC)
NIGHT = datetime(2026, 11, 2, 2, tzinfo=UTC)
A_DAY = timedelta(days=1)


@pytest.fixture
def schedule(project, bob):
    """Of bob, who edits; alice owns the project."""
    return nightly(project, Actor(user=bob))


def nightly(project, by, **fields) -> Schedule:
    values = {"name": "Nightly", "cron": "0 2 * * *", "zone": "UTC", "when_quiet": False}
    values |= {"template": draft(project, name="Template"), **fields}
    return create_schedule(by=by, project=project, now=EVENING, **values)


def firings(schedule) -> list[Firing]:
    return list(schedule.firings.order_by("due_at"))


def end(campaign: Campaign) -> None:
    """As one that measured."""
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=timezone.now())
    for test in campaign.tests.select_related("plan_version", "endpoint"):
        TestFigures.objects.create(
            test=test, campaign=campaign, project=campaign.project,
            plan=test.plan_version.plan, plan_number=1, endpoint=test.endpoint,
            connection_mode=test.connection_mode, injectors=1, started_at=campaign.started_at,
            n=100, errors=0, typical_us=[1000.0],
        )  # fmt: skip


def test_a_deleted_project_s_schedules_wait_until_it_is_restored(schedule, project, alice):
    by = Actor(user=alice)
    delete_items(by=by, items=[project])
    assert fire_due(NIGHT) == 0
    restore_items(by=by, items=[project])
    assert fire_due(NIGHT) == 1
    assert firings(schedule)[0].campaign


def test_a_campaign_is_started_once_when_it_is_due(schedule):
    fire_due(NIGHT - timedelta(seconds=1))
    assert not firings(schedule)
    for _ in range(2):
        fire_due(NIGHT + timedelta(seconds=1))
    (firing,) = firings(schedule)
    campaign = firing.campaign
    assert (firing.due_at, firing.n_missed, firing.why_skipped) == (NIGHT, 0, "")
    assert campaign.name == "Nightly"
    assert campaign.is_under_way
    assert campaign.tests.count() == schedule.template.tests.count()
    assert campaign.created_by == schedule.owner
    schedule.refresh_from_db()
    assert schedule.next_at == NIGHT + A_DAY


def test_what_was_missed_is_made_up_for_once(schedule):
    fire_due(NIGHT + 3 * A_DAY + timedelta(hours=5))
    (firing,) = firings(schedule)
    assert (firing.due_at, firing.n_missed) == (NIGHT + 3 * A_DAY, 3)


def _lose_the_role(schedule):
    Membership.objects.filter(user=schedule.owner).update(role="viewer")


def _disable_the_account(schedule):
    schedule.owner.is_active = False
    schedule.owner.save()


def _delete_the_account(schedule):
    schedule.owner.delete()


def _archive_the_project(schedule):
    archive_items(by=owner_of(schedule.project), items=[schedule.project])


def _delete_the_template(schedule):
    delete_items(by=owner_of(schedule.project), items=[schedule.template])


def _archive_the_target(schedule):
    target = schedule.template.tests.get().endpoint.target
    archive_items(by=owner_of(schedule.project), items=[target])


def _switch_load_off(schedule):
    stop_all_load_from_console()


def _keep_the_last_one_running(schedule):
    run_now(by=owner_of(schedule.project), schedule=schedule, now=NIGHT - timedelta(hours=1))


def test_what_cannot_be_started_says_why_and_is_due_again(schedule):
    for change, words in [
        (_lose_the_role, "bob may"),
        (_disable_the_account, "bob may"),
        (_delete_the_account, "owner may"),
        (_archive_the_project, "archived"),
        (_delete_the_template, "deleted"),
        (_archive_the_target, "archived"),
        (_switch_load_off, "Load was off"),
        (_keep_the_last_one_running, "still running"),
    ]:
        with undone():
            change(schedule)
            fire_due(NIGHT)
            last = firings(schedule)[-1]
            assert last.campaign is None
            assert words in last.why_skipped
            schedule.refresh_from_db()
            assert schedule.next_at == NIGHT + A_DAY


def test_two_at_once_do_not_exceed_the_limit(transactional_db, project, bob, monkeypatch):
    monkeypatch.setattr(services, "MOST_SCHEDULES", 1)
    values = {"template": draft(project), "name": "Nightly", "cron": "0 2 * * *", "zone": "UTC"}

    def add() -> None:
        with suppress(Refused):
            create_schedule(by=Actor(user=bob), project=project, now=EVENING, **values)

    at_once(*[add] * 6)
    assert project.schedules.count() == 1


def test_two_dispatchers_start_it_once(transactional_db, schedule):
    at_once(*[lambda: fire_due(NIGHT)] * 4)
    assert len(firings(schedule)) == 1
    assert Campaign.objects.filter(name="Nightly").count() == 1


def test_one_that_fails_is_paused_and_holds_up_no_other(project, schedule, as_alice):
    Schedule.objects.filter(pk=schedule.pk).update(zone="Gone/Away")
    other = nightly(project, as_alice, name="Other")
    fire_due(NIGHT)
    assert "failed" in firings(schedule)[0].why_skipped
    schedule.refresh_from_db()
    assert schedule.next_at is None
    assert firings(other)[0].campaign is not None


def test_one_that_is_refused_holds_up_no_other(project, schedule, as_bob):
    """Two have room of three that start together."""
    others = [nightly(project, as_bob, template=schedule.template) for _ in range(2)]
    project.caps = {"CAMPAIGNS": project.campaigns.count() + 2}
    project.save()
    fire_due(NIGHT)
    outcomes = [firings(each)[0] for each in (schedule, *others)]
    assert [each.campaign is not None for each in outcomes] == [True, True, False]
    assert "Delete campaigns" in outcomes[2].why_skipped


def test_copies_that_start_together_measure_what_their_templates_do(project, schedule, as_bob):
    template = draft(project, n_tests=2, name="Two plans")
    nightly(project, as_bob, name="Other", template=template)
    fire_due(NIGHT)
    for name, original in [("Nightly", schedule.template), ("Other", template)]:
        copy = Campaign.objects.get(name=name)
        assert cells(copy) == cells(original)
        assert copy.runs.count() == copy.repeats * len(cells(copy))
        assert copy.first_requests.count() == len(cells(copy))
        assert AuditEntry.objects.filter(what=f"campaign {copy.pk}: {name}").exists()


def cells(campaign: Campaign) -> list[tuple]:
    fields = ("plan_version", "endpoint", "connection_mode")
    return list(campaign.tests.order_by("position").values_list(*fields))


def test_who_saves_it_owns_it(schedule, as_alice):
    values = {"template": schedule.template, "zone": "Europe/Paris", "cron": "30 3 * * 1"}
    edit_schedule(by=as_alice, schedule=schedule, now=EVENING, name="Weekly", **values)
    schedule.refresh_from_db()
    assert schedule.owner == as_alice.user
    assert schedule.next_at == datetime(2026, 11, 2, 2, 30, tzinfo=UTC)


def test_an_edit_puts_back_nothing_that_others_changed(schedule, as_alice, as_bob):
    values = {"template": schedule.template, "zone": "UTC", "cron": "0 2 * * *"}
    token = version_token(content_of(schedule))
    edit_schedule(by=as_alice, schedule=schedule, now=EVENING, name="Hers", **values)
    with pytest.raises(ChangedMeanwhile):
        edit_schedule(
            by=as_bob, schedule=schedule, now=EVENING, name="Mine", opened=token, **values
        )


def test_a_paused_one_starts_nothing_and_makes_up_for_nothing(schedule, as_alice):
    switch_schedule(by=as_alice, schedule=schedule, is_on=False, now=EVENING)
    fire_due(NIGHT + A_DAY)
    switch_schedule(by=as_alice, schedule=schedule, is_on=True, now=NIGHT + A_DAY)
    fire_due(NIGHT + A_DAY)
    assert not firings(schedule)
    schedule.refresh_from_db()
    assert schedule.next_at == NIGHT + 2 * A_DAY


def test_it_becomes_silent_once_and_until_a_result_comes(schedule):
    late = NIGHT + timedelta(hours=7)
    fire_due(NIGHT)
    assert not note_silence(NIGHT + timedelta(hours=5))
    assert [each.pk for each in note_silence(late)] == [schedule.pk]
    assert not note_silence(late + timedelta(hours=1))
    schedule.refresh_from_db()
    assert schedule.silent_since == NIGHT
    (event,) = Event.objects.filter(kind=EventKind.SCHEDULE, project=schedule.project)
    assert "no usable result since 2 Nov 02:00 UTC" in event.message["headline"]
    end(firings(schedule)[0].campaign)
    note_silence(late + timedelta(hours=2))
    schedule.refresh_from_db()
    assert schedule.silent_since is None


def test_a_campaign_that_measured_nothing_is_no_result(schedule):
    fire_due(NIGHT)
    campaign = firings(schedule)[0].campaign
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=timezone.now())
    assert note_silence(NIGHT + timedelta(hours=7))


def test_old_outcomes_without_a_campaign_go_and_silence_keeps_its_beginning(schedule):
    fire_due(NIGHT + A_DAY)
    Schedule.objects.update(template=None)
    for n in (2, 3, 100):
        fire_due(NIGHT + n * A_DAY)
    Schedule.objects.update(silent_since=NIGHT + 2 * A_DAY)
    assert forget_old_firings(NIGHT + 100 * A_DAY) == 1
    left = [(firing.due_at - NIGHT) // A_DAY for firing in firings(schedule)]
    assert left == [1, 2, 100]


def test_a_wrong_value_is_refused_at_its_field(project, as_bob):
    for values, field in [
        ({"name": " "}, "name"),
        ({"cron": "nightly"}, "cron"),
        ({"zone": "here"}, "zone"),
        ({"result_within_h": 0}, "result_within_h"),
        ({"template": None}, "template"),
    ]:
        with pytest.raises(InvalidFields) as refusal:
            nightly(project, as_bob, **values)
        assert list(refusal.value.errors) == [field]


def test_another_projects_campaign_is_no_template(project, as_bob):
    other = make_project(owner=as_bob.user)
    with pytest.raises(InvalidFields):
        nightly(project, as_bob, template=draft(other))


def test_viewers_change_nothing(schedule, as_vera):
    acts = [
        lambda: nightly(schedule.project, as_vera),
        lambda: switch_schedule(by=as_vera, schedule=schedule, is_on=False, now=EVENING),
        lambda: run_now(by=as_vera, schedule=schedule, now=EVENING),
        lambda: delete_schedule(by=as_vera, schedule=schedule),
    ]
    for act in acts:
        with pytest.raises(Forbidden):
            act()


@pytest.mark.django_db(transaction=True)
def test_the_dispatcher_starts_what_is_due(schedule):
    Schedule.objects.filter(pk=schedule.pk).update(next_at=timezone.now())
    is_over = threading.Event()
    dispatcher = threading.Thread(target=Dispatcher(is_over).run)
    dispatcher.start()
    try:
        eventually(schedule.firings.exists, 30, "the firing")
    finally:
        is_over.set()
        dispatcher.join(15)
    assert schedule.firings.get().campaign is not None
