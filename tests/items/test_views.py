"""The lists of campaigns, plans, targets and projects, and what they do with ticked rows."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.items.services import archive_items
from campaigns.items.views import lists
from campaigns.models import Campaign, Project
from tests.engine.scenes import started
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_membership,
    make_plan,
    make_project,
    make_target,
)
from tests.item_kinds import KINDS, MODELS, make_item
from tests.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def as_owner(client, alice):
    client.force_login(alice)
    return client


def list_url(kind: str, project) -> str:
    return reverse(f"{kind}-list", args=[] if kind == "project" else [project.pk])


def bulk_url(kind: str, project) -> str:
    return reverse(f"{kind}-bulk", args=[] if kind == "project" else [project.pk])


def names_in(client, kind: str, project, **query) -> list[str]:
    if kind == "campaign":
        query.setdefault("view", "drafts")
    page = client.get(list_url(kind, project), query).context["page"]
    return [item.name for item in page if item != project]


def link_of(response, rel: str) -> str:
    link = re.search(rf'rel="{rel}" href="([^"]*)"', text_of(response))
    return unescape(link.group(1))


@pytest.mark.parametrize("kind", KINDS)
class TestEveryList:
    def test_it_is_searched_by_name_and_tag(self, as_owner, project, kind):
        make_item(kind, project, "Checkout")
        item = make_item(kind, project, "Prices")
        MODELS[kind].objects.filter(pk=item.pk).update(tags=["nightly"])
        assert names_in(as_owner, kind, project, search="check") == ["Checkout"]
        assert names_in(as_owner, kind, project, search="NIGHT") == ["Prices"]
        assert names_in(as_owner, kind, project, tag="nightly") == ["Prices"]
        assert names_in(as_owner, kind, project, search=f"#{item.pk}")[0] == "Prices"
        assert names_in(as_owner, kind, project, search="nothing like it") == []

    def test_it_is_sorted_by_its_columns(self, as_owner, project, kind):
        for name in ("b", "a", "C"):
            make_item(kind, project, name)
        assert names_in(as_owner, kind, project, ordering="name") == ["a", "b", "C"]
        assert names_in(as_owner, kind, project, ordering="-name") == ["C", "b", "a"]
        assert set(names_in(as_owner, kind, project, ordering="nonsense")) == {"a", "b", "C"}
        query = {"ordering": "-name", "view": "drafts"}
        page = text_of(as_owner.get(list_url(kind, project), query))
        assert 'aria-sort="descending"' in page

    def test_what_is_archived_is_shown_on_request_only(self, as_owner, project, kind, as_alice):
        archive_items(by=as_alice, items=[make_item(kind, project, "old")])
        make_item(kind, project, "new")
        assert names_in(as_owner, kind, project) == ["new"]
        assert names_in(as_owner, kind, project, view="archived") == ["old"]

    def test_ticked_rows_are_tagged_archived_and_restored(self, as_owner, project, kind):
        pks = [make_item(kind, project, name).pk for name in ("a", "b", "c")][:2]

        def do(what, **more):
            as_owner.post(bulk_url(kind, project), {"pk": pks, "do": what, **more})
            return MODELS[kind].objects.filter(pk__in=pks)

        assert {tuple(item.tags) for item in do("tag", tag="soak, new")} == {("new", "soak")}
        assert {tuple(item.tags) for item in do("untag", tag="new")} == {("soak",)}
        assert all(item.archived_at for item in do("archive"))
        assert names_in(as_owner, kind, project) == ["c"]
        assert not any(item.archived_at for item in do("restore"))

    def test_it_is_renamed_on_a_page_of_its_own(self, as_owner, project, kind):
        item = make_item(kind, project, "before")
        url = reverse(f"{kind}-rename", args=[item.pk])
        assert "before" in text_of(as_owner.get(url))
        assert as_owner.post(url, {"name": "after", "tags": "Soak, nightly"}).status_code == 302
        item.refresh_from_db()
        assert (item.name, item.tags) == ("after", ["nightly", "soak"])
        wrong = as_owner.post(url, {"name": "", "tags": "x" * 31})
        assert wrong.status_code == 422
        for field in ("name", "tags"):
            wrong = as_owner.post(url, {"name": "x", "tags": "", field: "a\0b"})
            assert wrong.status_code == 422
            assert set(wrong.context["form"].errors) == {field}


def test_the_next_page_keeps_the_filters_and_the_order(as_owner, project, monkeypatch):
    """Of one kind: all lists have the same pages."""
    monkeypatch.setattr(lists, "PAGE_SIZE", 3)
    for number in range(8):
        make_item("plan", project, f"row {number}")
    address = list_url("plan", project)
    page = as_owner.get(address, {"search": "row", "ordering": "-name"})
    following = as_owner.get(address + link_of(page, "next"))
    assert [item.name for item in following.context["page"]] == ["row 4", "row 3", "row 2"]
    assert "4 to 6 of 8" in text_of(following)
    before = as_owner.get(address + link_of(following, "prev"))
    assert [item.name for item in before.context["page"]] == ["row 7", "row 6", "row 5"]


def test_addresses_of_earlier_releases_mean_what_they_did(as_owner, project, alice, bob):
    make_campaign(project, "b", created_by=alice)
    make_campaign(project, "a", created_by=alice)
    make_campaign(project, "c", created_by=bob)
    old = {"state": "draft", "name": "", "sort": "-name", "by": alice.pk}
    assert names_in(as_owner, "campaign", project, **old) == ["b", "a"]
    assert names_in(as_owner, "campaign", project, **{**old, "name": "A"}) == ["a"]


def test_all_that_match_are_changed_at_once(as_owner, project):
    for number in range(40):
        make_campaign(project, f"{'soak' if number % 2 else 'smoke'} {number}")
    url = bulk_url("campaign", project) + "?search=soak&view=drafts"
    as_owner.post(url, {"all": "1", "do": "archive"})
    assert Campaign.objects.exclude(archived_at=None).count() == 20
    assert not Campaign.objects.filter(name__contains="smoke").exclude(archived_at=None).exists()


def test_a_deleted_project_is_undone_or_deleted_forever_by_its_owners(as_owner, project, bob):
    item, as_bob = make_item("project", project, "gone"), Client()
    make_membership(item, bob, "editor")
    as_bob.force_login(bob)
    fields = {"pk": item.pk, "do": "delete"}
    after = as_owner.post(bulk_url("project", project), fields, follow=True)
    assert after.context["undo"]["words"].startswith("1 project deleted")
    trash = f"{list_url('project', project)}?view=trash"
    assert [each.name for each in as_owner.get(trash).context["page"]] == ["gone"]
    assert list(as_bob.get(trash).context["page"]) == []
    undo = after.context["undo"]
    as_owner.post(undo["url"], {"at": undo["at"], "do": "restore"})
    assert as_owner.get(reverse("campaign-list", args=[item.pk])).status_code == 200
    as_owner.post(bulk_url("project", project), fields)
    assert as_owner.get(reverse("campaign-list", args=[item.pk])).status_code == 404
    bulk = f"{bulk_url('project', project)}?view=trash"
    as_owner.post(bulk, {"pk": item.pk, "do": "purge", "confirmed": "1"})
    assert not Project.objects.filter(pk=item.pk).exists()


class TestUndo:
    def test_the_list_that_follows_undoes_it(self, as_owner, project):
        pks = [make_item("plan", project, name).pk for name in ("a", "b")]
        make_item("plan", project, "c")
        for what in ("archive", "delete"):
            fields = {"pk": pks, "do": what}
            after = as_owner.post(bulk_url("plan", project), fields, follow=True)
            assert names_in(as_owner, "plan", project) == ["c"]
            undo = after.context["undo"]
            assert undo["words"].startswith(f"2 plans {what}d")
            assert as_owner.get(list_url("plan", project)).context["undo"] is None
            as_owner.post(undo["url"], {"at": undo["at"], "do": "restore"})
            assert sorted(names_in(as_owner, "plan", project)) == ["a", "b", "c"]

    @pytest.mark.parametrize("at", ["2026-02-30T12:00:00Z", "2026-11-21T12:00:00+23:59"])
    def test_a_time_that_nothing_was_done_at_undoes_nothing(self, as_owner, project, at):
        answer = as_owner.post(bulk_url("plan", project), {"at": at, "do": "restore"})
        assert answer.url == list_url("plan", project)

    def test_the_trash_restores_and_deletes_forever(self, as_owner, project):
        kind = "target"
        pks = [make_item(kind, project, name).pk for name in ("a", "b")]
        url, trash = bulk_url(kind, project), f"{bulk_url(kind, project)}?view=trash"
        as_owner.post(url, {"pk": pks, "do": "delete"})
        assert set(names_in(as_owner, kind, project, view="trash")) == {"a", "b"}
        as_owner.post(trash, {"pk": pks[0], "do": "restore"})
        ask = as_owner.post(trash, {"pk": pks[1], "do": "purge"})
        assert "This cannot be undone" in text_of(ask)
        as_owner.post(trash, {"pk": pks[1], "do": "purge", "confirmed": "1"})
        assert names_in(as_owner, kind, project) == ["a"]
        assert names_in(as_owner, kind, project, view="trash") == []
        assert not MODELS[kind].objects.filter(pk=pks[1]).exists()

    @pytest.mark.parametrize("kind", ["campaign", "plan", "target"])
    def test_what_is_in_the_trash_has_no_page(self, as_owner, project, kind):
        item = make_item(kind, project, "gone")
        as_owner.post(bulk_url(kind, project), {"pk": item.pk, "do": "delete"})
        assert as_owner.get(reverse(f"{kind}-detail", args=[item.pk])).status_code == 404
        again = as_owner.post(bulk_url(kind, project), {"pk": item.pk, "do": "purge"})
        assert again.status_code == 404


def test_archived_things_are_no_choices(as_owner, project, as_alice):
    make_campaign(project)
    target = make_target(project, "old shop")
    make_endpoint(target)
    plan = make_plan(project, "old plan").plan
    other = make_project("old project", owner=as_alice.user)
    archive_items(by=as_alice, items=[target])
    archive_items(by=as_alice, items=[plan])
    archive_items(by=as_alice, items=[other])
    form = text_of(as_owner.get(reverse("campaign-new", args=[project.pk])))
    filters = text_of(as_owner.get(list_url("campaign", project)))
    assert "old plan" not in form
    assert "old shop" not in form
    assert "old shop" not in filters
    assert "old project" not in filters


def test_one_click_says_that_a_campaign_was_looked_at(as_owner, project):
    campaign, _ = (
        make_campaign(project, name, **just_now(), stop_reason="All failed.")
        for name in ("looked", "other")
    )
    response = as_owner.post(
        bulk_url("campaign", project) + "?view=look", {"pk": campaign.pk, "do": "look"}, follow=True
    )
    assert [item.name for item in response.context["page"]] == ["other"]


def test_what_runs_stops_the_whole_deletion_and_the_page_says_why(as_owner, project):
    running, draft = started(project), make_campaign(project, "draft")
    fields = {"pk": [running.pk, draft.pk], "do": "delete"}
    page = as_owner.post(bulk_url("campaign", project), fields, follow=True)
    assert "study is running. Stop it first." in text_of(page)
    assert Campaign.objects.outside_trash().count() == 2


def test_two_ticked_campaigns_are_compared_the_older_as_the_baseline(as_owner, project):
    pks = [make_campaign(project, name).pk for name in ("old", "new")]
    url = bulk_url("campaign", project)
    answer = as_owner.post(url, {"pk": pks[::-1], "do": "compare"})
    query = parse_qs(urlsplit(answer.url).query)
    assert query == {"a": [f"campaign-{pks[0]}"], "b": [f"campaign-{pks[1]}"]}
    refusal = as_owner.post(url, {"pk": pks[:1], "do": "compare"}, follow=True)
    assert "1 is ticked" in refusal.content.decode()
    refusal = as_owner.post(url, {"pk": pks, "do": "tag", "tag": " "}, follow=True)
    assert "Enter the tag first" in refusal.content.decode()
