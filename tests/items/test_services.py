"""Rename, tag, archive, restore and delete: one way for campaigns, plans, targets and projects."""

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from campaigns.accounts.tokens import create_share
from campaigns.campaigns.services import campaigns
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.items.services import (
    archive_items,
    delete_items,
    describe_item,
    restore_items,
    tag_items,
)
from campaigns.models import Campaign, Project, Run, SavedPlan, Target, Test
from tests.engine.scenes import draft, one_behind_the_other, owner_of, started
from tests.factories import (
    just_now,
    make_campaign,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
    make_user,
)
from tests.item_kinds import KINDS
from tests.measured import measure

pytestmark = pytest.mark.django_db
OURS = list(apps.get_app_config("campaigns").get_models())


@pytest.fixture
def items(project):
    """One of each kind, in no use."""
    return {
        "campaign": make_campaign(project, "nightly run"),
        "plan": make_plan(project, "prices").plan,
        "target": make_target(project, "shop"),
        "project": project,
    }


def past_campaign(project, by, name: str = "done") -> Campaign:
    """A campaign with a measured run and two share links."""
    now = timezone.now()
    campaign = make_campaign(project, name, **just_now())
    run = make_run(make_test(campaign), t0=now)
    measure(run, 10_000, n=200)
    create_share(by=by, project=project, campaign=campaign, days=1)
    create_share(by=by, project=project, run=run, days=1)
    return campaign


class TestDescribing:
    def test_a_name_must_be_one_and_tags_are_short_words(self, items, as_alice):
        for wrong in [
            *({"name": name} for name in ("", "   ", "x" * 151)),
            *({"tags": tags} for tags in (["x" * 31], ["a,b"], [str(n) for n in range(21)])),
        ]:
            for kind in KINDS:
                with pytest.raises(InvalidFields, match="|".join(wrong)):
                    describe_item(by=as_alice, item=items[kind], **wrong)

    @pytest.mark.parametrize(("kind", "make"), [("plan", make_plan), ("target", make_target)])
    def test_a_name_that_is_taken_is_refused(self, project, items, kind, make, as_alice):
        make(project, "taken")
        with pytest.raises(InvalidFields, match=f"Another {kind} has this name"):
            describe_item(by=as_alice, item=items[kind], name="taken")

    def test_tags_are_added_to_and_taken_from_many(self, project, as_bob):
        many = [make_campaign(project, tags=["old"]) for _ in range(3)]
        tag_items(by=as_bob, items=many, add=["new"], remove=["old"])
        assert list(Campaign.objects.values_list("tags", flat=True)) == [["new"]] * 3


class TestArchiving:
    def test_what_runs_is_not_archived(self, project, as_alice):
        campaign = started(project)
        with pytest.raises(Refused, match="study is running"):
            archive_items(by=as_alice, items=[make_campaign(project), campaign])
        with pytest.raises(Refused, match="study is running"):
            archive_items(by=as_alice, items=[project])
        assert not Campaign.objects.exclude(archived_at=None).exists()

    @pytest.mark.parametrize(("kind", "make"), [("plan", make_plan), ("target", make_target)])
    def test_a_name_taken_meanwhile_is_not_restored(self, project, items, kind, make, as_alice):
        archive_items(by=as_alice, items=[items[kind]])
        make(project, items[kind].name)
        with pytest.raises(Refused, match="Rename one of them first"):
            restore_items(by=as_alice, items=[items[kind]])


class TestDeleting:
    @pytest.mark.parametrize("kind", ["plan", "target"])
    def test_what_results_need_is_archived_instead(self, project, kind, as_bob):
        test = Test.objects.get(campaign=past_campaign(project, as_bob))
        item = test.plan_version.plan if kind == "plan" else test.endpoint.target
        with pytest.raises(Refused, match="is used by 1 campaign,"):
            delete_items(by=as_bob, items=[item])
        delete_items(by=as_bob, items=[test.campaign])
        with pytest.raises(Refused, match="1 campaign of the trash, "):
            delete_items(by=as_bob, items=[item])
        archive_items(by=as_bob, items=[item])
        assert Run.objects.get().frozen.plan_name == test.plan_version.plan.name

    def test_what_runs_is_not_deleted_and_neither_are_the_others(self, project, as_alice):
        running, draft = started(project), make_campaign(project)
        with pytest.raises(Refused, match="study is running"):
            delete_items(by=as_alice, items=[draft, running])
        with pytest.raises(Refused, match="study is running"):
            delete_items(by=as_alice, items=[project])
        assert Campaign.objects.outside_trash().count() == 2

    def test_a_campaign_started_meanwhile_is_not_deleted(self, project, as_bob):
        draft = make_campaign(project, "draft")
        stale = Campaign.objects.get(pk=draft.pk)
        Campaign.objects.filter(pk=draft.pk).update(started_at=timezone.now())
        with pytest.raises(Refused, match="Stop it first"):
            delete_items(by=as_bob, items=[stale])


class TestRights:
    def test_one_foreign_item_stops_all(self, project, as_bob):
        foreign = make_campaign(make_project(owner=make_user("dora")))
        with pytest.raises(Forbidden):
            delete_items(by=as_bob, items=[make_campaign(project), foreign])
        assert Campaign.objects.outside_trash().count() == 2

    def test_there_are_four_kinds(self):
        assert {Campaign, SavedPlan, Target, Project} == {
            model for model in OURS if hasattr(model, "administered_by")
        }


@pytest.mark.django_db(transaction=True)
def test_who_deletes_a_project_gives_way_to_who_starts_a_campaign_of_it(project, monkeypatch):
    """Otherwise each waits for a row of the other, until PostgreSQL ends one of them."""
    campaign, by = draft(project), owner_of(project)
    notify = campaigns.notify_viewers

    def start(hold) -> str:
        monkeypatch.setattr(campaigns, "notify_viewers", lambda **of: (notify(**of), hold()))
        start_campaign(by=by, campaign=campaign, anyway=True)
        return "started"

    def delete() -> str:
        with pytest.raises(Refused):
            delete_items(by=by, items=[project])
        return "refused"

    assert one_behind_the_other(start, delete) == ["started", "refused"]
    assert campaign.runs.get().state == "queued"


@pytest.mark.django_db(transaction=True)
def test_a_campaign_is_not_started_on_a_target_that_is_being_archived(project):
    campaign, by = draft(project), owner_of(project)
    target = campaign.tests.get().endpoint.target

    def archive(hold) -> str:
        with transaction.atomic():
            archive_items(by=by, items=[target])
            hold()
        return "archived"

    def start() -> str:
        with pytest.raises(Refused):
            start_campaign(by=by, campaign=campaign)
        return "refused"

    assert one_behind_the_other(archive, start) == ["archived", "refused"]
    assert not campaign.runs.exists()


def test_a_campaign_that_was_deleted_meanwhile_is_not_called_started(project):
    campaign, by = draft(project), owner_of(project)
    delete_items(by=by, items=[Campaign.objects.get(pk=campaign.pk)])
    with pytest.raises(Refused, match="study has been deleted"):
        start_campaign(by=by, campaign=campaign)
