"""What is deleted lies in the trash for 30 days and nowhere else. Restored, it is as it was."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns.accounts.tokens import create_share, open_share
from campaigns.campaigns.queries.campaign_list import trends_of
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core.permissions import Action, Actor, rights
from campaigns.domain.errors import Forbidden, Refused
from campaigns.items.services import (
    archive_items,
    delete_items,
    empty_trash,
    purge_items,
    restore_items,
)
from campaigns.machines.services import ask_again
from campaigns.models import (
    AuditEntry,
    Campaign,
    Endpoint,
    Exporter,
    Membership,
    PlanVersion,
    Project,
    Run,
    SavedPlan,
    ShareLink,
    Target,
    Test,
    TestFigures,
)
from campaigns.runs.services import keep_figures
from tests.engine.scenes import draft, one_behind_the_other, owner_of
from tests.factories import just_now, make_campaign, make_plan, make_run, make_target, make_test
from tests.item_kinds import MODELS, make_item
from tests.kept_rows import undone
from tests.measured import measure, same_again

pytestmark = pytest.mark.django_db
KINDS = ("campaign", "plan", "target")


def never() -> bool:
    return False


def age(item, days: float) -> None:
    """As if it had been deleted so many days ago."""
    at = timezone.now() - timedelta(days=days)
    type(item).objects.filter(pk=item.pk).update(deleted_at=at, archived_at=at)


@pytest.fixture
def past_campaign(project):
    """A campaign that has measured."""
    now = timezone.now()
    campaign = make_campaign(project, "done", **just_now())
    measure(make_run(make_test(campaign), t0=now), 10_000, n=200)
    keep_figures(campaign.tests.values_list("pk", flat=True))
    return campaign


def test_it_is_in_the_trash_alone_and_comes_back_as_it_was(project, as_bob):
    for kind in KINDS:
        for was_archived in [True, False]:
            with undone():
                item, rows = make_item(kind, project, "prices"), MODELS[kind].objects
                if was_archived:
                    archive_items(by=as_bob, items=[item])
                before = rows.values().get(pk=item.pk)
                delete_items(by=as_bob, items=[item])
                assert not rows.visible_to(as_bob).exists()
                assert list(rows.in_trash(as_bob)) == [item]
                restore_items(by=as_bob, items=[item])
                assert rows.visible_to(as_bob).values().get() == before
                assert not rows.in_trash(as_bob).exists()


def test_nothing_of_a_campaign_is_anywhere_meanwhile(project, past_campaign, as_alice):
    share, _ = create_share(by=as_alice, project=project, campaign=past_campaign, days=1)
    of_run, _ = create_share(by=as_alice, project=project, run=past_campaign.runs.get(), days=1)
    delete_items(by=as_alice, items=[past_campaign])
    for model in (Campaign, Test, Run, TestFigures, ShareLink):
        assert not model.objects.visible_to(as_alice).exists(), model
    for link in (share, of_run):
        visitor = Actor(share=link)
        assert not Campaign.objects.visible_to(visitor).exists()
        assert not Run.objects.visible_to(visitor).exists()


def test_nothing_of_a_project_is_anywhere_and_nobody_may_anything_in_it(
    project, past_campaign, as_alice
):
    share, token = create_share(by=as_alice, project=project, campaign=past_campaign, days=1)
    exporter = Exporter.objects.create(
        target=past_campaign.tests.get().endpoint.target, name="a", url="x"
    )
    delete_items(by=as_alice, items=[project])
    for model in (Project, Campaign, Test, Run, TestFigures, ShareLink, Exporter, Membership):
        assert not model.objects.visible_to(as_alice).exists(), model
    assert not Run.objects.visible_to(Actor(share=share)).exists()
    assert open_share(token=token) is None
    ask_again()
    exporter.refresh_from_db()
    assert exporter.asked_at is None
    project.refresh_from_db()
    assert rights(as_alice, project) == {Action.ADMINISTER}
    with pytest.raises(Refused, match="An owner can restore it"):
        create_share(by=as_alice, project=project, campaign=past_campaign, days=1)
    restore_items(by=as_alice, items=[project])
    assert open_share(token=token) == share
    assert Run.objects.visible_to(as_alice).count() == 1


def test_a_deleted_project_s_campaigns_are_in_no_trash(project, as_alice):
    campaign = make_campaign(project)
    delete_items(by=as_alice, items=[campaign])
    delete_items(by=as_alice, items=[project])
    assert not Campaign.objects.in_trash(as_alice).exists()
    with pytest.raises(Refused, match="has been deleted"):
        restore_items(by=as_alice, items=[Campaign.objects.get(pk=campaign.pk)])


def test_neither_is_anything_of_a_plan_or_target(project, as_alice):
    plan = make_plan(project).plan
    target = make_target(project)
    target.endpoints.create(scheme="http", host="shop", port=80)
    delete_items(by=as_alice, items=[plan])
    delete_items(by=as_alice, items=[target])
    for model in (PlanVersion, Endpoint):
        assert not model.objects.visible_to(as_alice).exists()


def test_later_campaigns_do_not_show_it_in_their_trends(project, past_campaign, as_alice):
    (test,) = same_again(list(past_campaign.tests.all()), started_at=timezone.now())
    measure(make_run(test), 10_000, n=200)
    assert len(trends_of([test.campaign])[test.campaign_id].p95s_ms) == 2
    delete_items(by=as_alice, items=[past_campaign])
    assert len(trends_of([test.campaign])[test.campaign_id].p95s_ms) == 1


def test_a_name_is_free_again_and_a_taken_one_is_not_restored(project, as_bob):
    plan = make_plan(project, "prices").plan
    delete_items(by=as_bob, items=[plan])
    make_plan(project, "prices")
    with pytest.raises(Refused, match="Rename one of them first"):
        restore_items(by=as_bob, items=[plan])


def test_a_viewer_neither_restores_nor_deletes_forever(project, as_bob, as_vera):
    campaign = make_campaign(project)
    delete_items(by=as_bob, items=[campaign])
    for act in (restore_items, purge_items):
        with pytest.raises(Forbidden):
            act(by=as_vera, items=[campaign])


def test_who_did_what_is_in_the_audit_log(project, as_bob):
    campaign = make_campaign(project, "night")
    for act in (delete_items, restore_items, delete_items, purge_items):
        act(by=as_bob, items=[campaign])
    entries = AuditEntry.objects.order_by("pk").values_list("deed", "what", "who")
    what = f"campaign {campaign.pk}: night"
    deeds = ("deleted", "restored", "deleted", "deleted_forever")
    assert list(entries) == [(deed, what, "bob") for deed in deeds]


def test_only_what_is_in_the_trash_is_deleted_forever(project, as_bob):
    campaign = make_campaign(project)
    with pytest.raises(Refused, match="has been restored"):
        purge_items(by=as_bob, items=[campaign])


def test_it_is_gone_after_thirty_days(project, past_campaign, as_alice):
    young = make_campaign(project, "young")
    delete_items(by=as_alice, items=[past_campaign, young])
    age(past_campaign, 30.1)
    age(young, 29.9)
    assert empty_trash(is_over=never) == 1
    assert list(Campaign.objects.all()) == [young]
    assert not Run.objects.exists()


def test_a_project_goes_with_all_that_belongs_to_it(project, past_campaign, as_alice):
    delete_items(by=as_alice, items=[project])
    age(project, 30.1)
    assert empty_trash(is_over=never) == 1
    for model in (Project, Campaign, Run, SavedPlan, Target):
        assert not model.objects.exists(), model


def test_a_plan_and_a_target_go_after_the_campaigns_that_need_them(project, past_campaign):
    test = past_campaign.tests.get()
    plan, target = test.plan_version.plan, test.endpoint.target
    for item in (plan, target):
        age(item, 31)
    assert empty_trash(is_over=never) == 0
    age(past_campaign, 31)
    assert empty_trash(is_over=never) == 3
    assert not SavedPlan.objects.exists()
    assert not Target.objects.exists()


def test_a_deleted_draft_is_not_started(project, as_alice):
    campaign = draft(project)
    delete_items(by=as_alice, items=[Campaign.objects.get(pk=campaign.pk)])
    with pytest.raises(Refused, match="has been deleted"):
        start_campaign(by=as_alice, campaign=campaign)
    assert not campaign.runs.exists()


def test_nothing_of_a_deleted_project_is_started(project, as_alice):
    campaign = draft(project)
    delete_items(by=as_alice, items=[Project.objects.get(pk=project.pk)])
    with pytest.raises(Refused, match="has been deleted"):
        start_campaign(by=as_alice, campaign=campaign)


@pytest.mark.django_db(transaction=True)
def test_what_is_being_restored_is_not_removed(project):
    campaign, by = make_campaign(project), owner_of(project)
    delete_items(by=by, items=[campaign])
    age(campaign, 31)

    def restore(hold) -> str:
        with transaction.atomic():
            restore_items(by=by, items=[campaign])
            hold()
        return "restored"

    assert one_behind_the_other(restore, lambda: empty_trash(is_over=never)) == ["restored", 0]
    assert Campaign.objects.outside_trash().exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_being_removed_is_not_restored(project, monkeypatch):
    campaign, by = make_campaign(project), owner_of(project)
    delete_items(by=by, items=[campaign])

    def purge(hold) -> str:
        with transaction.atomic():
            purge_items(by=by, items=[campaign])
            hold()
        return "gone"

    def restore() -> str:
        with pytest.raises(Refused, match="has been deleted"):
            restore_items(by=by, items=[Campaign(pk=campaign.pk, project=project, name="it")])
        return "refused"

    assert one_behind_the_other(purge, restore) == ["gone", "refused"]
