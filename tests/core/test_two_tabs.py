"""One thing edited in two tabs, by one person or by two: the later one puts nothing back unseen."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.core.permissions import Actor
from campaigns.domain.errors import Refused
from campaigns.items.services import archive_items, describe_item, tag_items
from campaigns.models import Campaign, Exporter, OwnTlsProfile, SavedPlan, Target
from tests.cast import enter
from tests.engine.scenes import create
from tests.factories import make_endpoint, make_plan, make_target, make_user
from tests.pages import text_of
from tests.typed_forms import typed

pytestmark = pytest.mark.django_db


@dataclass
class Edited:
    """Something with the form that edits it. `theirs`: what another tab changes; `mine`: what this
    one does; `label`: what the form calls that of the other."""

    row: Any
    address: str
    theirs: dict[str, Any]
    mine: dict[str, Any]
    label: str

    def state(self) -> dict[str, Any]:
        """All that is stored of it."""
        row = type(self.row).objects.get(pk=self.row.pk)
        found = {each.attname: getattr(row, each.attname) for each in row._meta.concrete_fields}
        if isinstance(row, SavedPlan):
            found["spec"] = row.latest.spec
        return {name: value for name, value in found.items() if name != "asked_at"}


def _plan(project) -> Edited:
    plan = make_plan(project, "Prices").plan
    address = reverse("plan-edit", args=[plan.pk])
    return Edited(plan, address, {"warm_up_s": "7"}, {"name": "Costs"}, "Warm-up")


def _target(project) -> Edited:
    target = make_target(project, "shop")
    make_endpoint(target)
    address = reverse("target-edit", args=[target.pk])
    theirs = {"label": ["CPU"], "value": ["8 cores"]}
    return Edited(target, address, theirs, {"name": "shop 2"}, "Environment")


def _profile(project) -> Edited:
    profile = OwnTlsProfile.objects.create(project=project, name="ours", offers={})
    address = reverse("tls-profile-edit", args=[profile.pk])
    return Edited(profile, address, {"max_version": "1.2"}, {"groups": "X25519"}, "Maximum version")


def _exporter(project) -> Edited:
    url = "http://10.0.0.5:9100/metrics"
    exporter = Exporter.objects.create(target=make_target(project), name="shop-1", url=url)
    address = reverse("exporter-edit", args=[exporter.pk])
    theirs = {"url": "http://10.0.0.6:9100/metrics"}
    return Edited(exporter, address, theirs, {"name": "shop-2"}, "Metrics address")


def _draft(project) -> Edited:
    draft = create(_alice(project), project)
    address = f"{reverse('campaign-new', args=[project.pk])}?edit={draft.pk}"
    return Edited(draft, address, {"pause_s": "9"}, {"name": "larger"}, "Pause between runs")


def _named(project) -> Edited:
    target = make_target(project, "shop")
    address = reverse("target-rename", args=[target.pk])
    return Edited(target, address, {"tags": "nightly"}, {"name": "shop 2"}, "Tags")


def _caps(project) -> Edited:
    address = reverse("caps-edit", args=[project.pk])
    return Edited(project, address, {"RUNS": "3"}, {"PLANS": "5"}, "Active runs")


def _alice(project):
    return Actor(user=project.memberships.get(role="owner").user)


_KINDS = {
    "plan": _plan,
    "target": _target,
    "TLS profile": _profile,
    "exporter": _exporter,
    "draft": _draft,
    "name and tags": _named,
    "caps": _caps,
}
# What a third tab enters where `mine` has another value.
_THIRD = {"name": "third"}


@pytest.fixture
def edited(request, project) -> Edited:
    """A target, where a test names no other kind: all forms that edit are one."""
    return _KINDS[getattr(request, "param", "target")](project)


@pytest.fixture
def tab(client, project, edited) -> Client:
    owner = project.memberships.get(role="owner").user
    enter(client, make_user("adam", is_superuser=True) if "caps" in edited.address else owner)
    return client


def _send(tab: Client, edited: Edited, page, **changed):
    return tab.post(edited.address, typed(page.content, **changed))


@pytest.mark.parametrize("edited", _KINDS, indirect=True)
def test_what_another_tab_saved_is_not_put_back(tab, edited):
    older = tab.get(edited.address)
    assert _send(tab, edited, tab.get(edited.address), **edited.theirs).status_code == 302
    saved = edited.state()
    answer = _send(tab, edited, older, **edited.mine)
    assert answer.status_code == 409
    assert edited.state() == saved
    assert f"Changed: {edited.label}." in text_of(answer)
    assert typed(answer.content).items() >= {k: [v] for k, v in edited.mine.items()}.items()


@pytest.mark.parametrize("edited", ["target", "plan", "caps"], indirect=True)
def test_who_has_seen_it_may_save_anyway(tab, edited):
    older = tab.get(edited.address)
    before = edited.state()
    _send(tab, edited, tab.get(edited.address), **edited.theirs)
    told = _send(tab, edited, older, **edited.mine)
    assert tab.post(edited.address, typed(told.content)).status_code == 302
    assert edited.state() != before
    fresh = typed(tab.get(edited.address).content)
    assert fresh.items() >= {name: [value] for name, value in edited.mine.items()}.items()
    for name in edited.theirs:
        assert fresh.get(name) == typed(older.content).get(name)


def test_who_saves_anyway_replaces_only_what_was_seen(tab, edited):
    older = tab.get(edited.address)
    _send(tab, edited, tab.get(edited.address), **edited.theirs)
    told = _send(tab, edited, older, **edited.mine)
    third = {name: _THIRD[name] for name in edited.mine}
    assert _send(tab, edited, tab.get(edited.address), **third).status_code == 302
    assert tab.post(edited.address, typed(told.content)).status_code == 409


def test_a_form_that_is_sent_twice_is_saved_once_and_no_conflict(tab, edited):
    page = tab.get(edited.address)
    assert _send(tab, edited, page, **edited.mine).status_code == 302
    assert _send(tab, edited, page, **edited.mine).status_code == 302


def test_a_fault_in_between_does_not_hide_what_others_changed(as_editor, project):
    edited, tab = _target(project), as_editor
    older = tab.get(edited.address)
    _send(tab, edited, tab.get(edited.address), **edited.theirs)
    wrong = _send(tab, edited, older, name="")
    assert wrong.status_code == 422
    assert _send(tab, edited, wrong, **edited.mine).status_code == 409


def test_a_tag_of_another_tab_is_no_conflict_with_what_the_form_does_not_have(as_editor, project):
    edited = _plan(project)
    older = as_editor.get(edited.address)
    tag_items(by=_alice(project), items=[edited.row], add=["nightly"])
    assert _send(as_editor, edited, older, **edited.mine).status_code == 302
    assert edited.state()["tags"] == ["nightly"]


def test_a_draft_that_another_tab_changed_is_not_started_unseen(as_editor, project):
    edited = _draft(project)
    older = as_editor.get(edited.address)
    _send(as_editor, edited, as_editor.get(edited.address), **edited.theirs)
    assert _send(as_editor, edited, older, start="1").status_code == 409
    assert Campaign.objects.get().started_at is None


def test_what_was_typed_stays_where_it_is_archived_meanwhile(as_editor, project):
    for edited in (_plan(project), _target(project)):
        older = as_editor.get(edited.address)
        archive_items(by=_alice(project), items=[edited.row])
        answer = _send(as_editor, edited, older, **edited.mine)
        assert answer.status_code == 422
        assert typed(answer.content)["name"] == [edited.mine["name"]]


def test_an_item_that_was_deleted_meanwhile_is_not_a_server_error(as_editor, project):
    edited = _named(project)
    Target.objects.all().delete()
    with pytest.raises(Refused):
        describe_item(by=_alice(project), item=edited.row, name="late")
