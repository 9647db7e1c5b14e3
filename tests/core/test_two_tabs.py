"""One thing edited in two tabs, by one person or by two: the later one puts nothing back unseen."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.domain.errors import Refused
from campaigns.items.services import archive_items, describe_item, tag_items
from campaigns.models import Campaign, Exporter, OwnTlsProfile, SavedPlan, Target
from tests.cast import enter
from tests.engine.scenes import create, owner_of
from tests.factories import make_endpoint, make_plan, make_target, make_user
from tests.pages import text_of
from tests.typed_forms import form_data

pytestmark = pytest.mark.django_db


@dataclass
class EditForm:
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
        values = {each.attname: getattr(row, each.attname) for each in row._meta.concrete_fields}
        if isinstance(row, SavedPlan):
            values["spec"] = row.latest.spec
        return {name: value for name, value in values.items() if name != "asked_at"}


def _plan(project) -> EditForm:
    plan = make_plan(project, "Prices").plan
    address = reverse("plan-edit", args=[plan.pk])
    return EditForm(plan, address, {"warm_up_s": "7"}, {"name": "Costs"}, "Warm-up")


def _target(project) -> EditForm:
    target = make_target(project, "shop")
    make_endpoint(target)
    address = reverse("target-edit", args=[target.pk])
    theirs = {"label": ["CPU"], "value": ["8 cores"]}
    return EditForm(target, address, theirs, {"name": "shop 2"}, "Environment")


def _profile(project) -> EditForm:
    profile = OwnTlsProfile.objects.create(project=project, name="ours", offers={})
    address = reverse("tls-profile-edit", args=[profile.pk])
    return EditForm(
        profile, address, {"max_version": "1.2"}, {"groups": "X25519"}, "Maximum version"
    )


def _exporter(project) -> EditForm:
    url = "http://10.0.0.5:9100/metrics"
    exporter = Exporter.objects.create(target=make_target(project), name="shop-1", url=url)
    address = reverse("exporter-edit", args=[exporter.pk])
    theirs = {"url": "http://10.0.0.6:9100/metrics"}
    return EditForm(exporter, address, theirs, {"name": "shop-2"}, "Metrics address")


def _draft(project) -> EditForm:
    draft = create(owner_of(project), project)
    address = f"{reverse('campaign-new', args=[project.pk])}?edit={draft.pk}"
    return EditForm(draft, address, {"pause_s": "9"}, {"name": "larger"}, "Pause between runs")


def _name_and_tags(project) -> EditForm:
    target = make_target(project, "shop")
    address = reverse("target-rename", args=[target.pk])
    return EditForm(target, address, {"tags": "nightly"}, {"name": "shop 2"}, "Tags")


def _caps(project) -> EditForm:
    address = reverse("caps-edit", args=[project.pk])
    return EditForm(project, address, {"RUNS": "3"}, {"PLANS": "5"}, "Active runs")


_KINDS = {
    "plan": _plan,
    "target": _target,
    "TLS profile": _profile,
    "exporter": _exporter,
    "draft": _draft,
    "name and tags": _name_and_tags,
    "caps": _caps,
}
# What a third tab enters where `mine` has another value.
_THIRD = {"name": "third"}


@pytest.fixture
def form(request, project) -> EditForm:
    """A target, where a test names no other kind: all forms that edit are one."""
    return _KINDS[getattr(request, "param", "target")](project)


@pytest.fixture
def tab(client, project, form) -> Client:
    is_of_caps = "caps" in form.address
    enter(client, make_user("adam", is_superuser=True) if is_of_caps else owner_of(project).user)
    return client


def _send(tab: Client, form: EditForm, page, **changes):
    return tab.post(form.address, form_data(page.content, **changes))


@pytest.mark.parametrize("form", _KINDS, indirect=True)
def test_what_another_tab_saved_is_not_put_back(tab, form):
    older = tab.get(form.address)
    assert _send(tab, form, tab.get(form.address), **form.theirs).status_code == 302
    state = form.state()
    answer = _send(tab, form, older, **form.mine)
    assert answer.status_code == 409
    assert form.state() == state
    assert f"Changed: {form.label}." in text_of(answer)
    assert form_data(answer.content).items() >= {k: [v] for k, v in form.mine.items()}.items()


@pytest.mark.parametrize("form", ["target", "plan", "caps"], indirect=True)
def test_who_has_seen_it_may_save_anyway(tab, form):
    older = tab.get(form.address)
    before = form.state()
    _send(tab, form, tab.get(form.address), **form.theirs)
    conflict = _send(tab, form, older, **form.mine)
    assert tab.post(form.address, form_data(conflict.content)).status_code == 302
    assert form.state() != before
    fresh = form_data(tab.get(form.address).content)
    assert fresh.items() >= {name: [value] for name, value in form.mine.items()}.items()
    for name in form.theirs:
        assert fresh.get(name) == form_data(older.content).get(name)


def test_who_saves_anyway_replaces_only_what_was_seen(tab, form):
    older = tab.get(form.address)
    _send(tab, form, tab.get(form.address), **form.theirs)
    conflict = _send(tab, form, older, **form.mine)
    third = {name: _THIRD[name] for name in form.mine}
    assert _send(tab, form, tab.get(form.address), **third).status_code == 302
    assert tab.post(form.address, form_data(conflict.content)).status_code == 409


def test_a_form_that_is_sent_twice_is_saved_once_and_no_conflict(tab, form):
    page = tab.get(form.address)
    assert _send(tab, form, page, **form.mine).status_code == 302
    assert _send(tab, form, page, **form.mine).status_code == 302


def test_a_fault_in_between_does_not_hide_what_others_changed(as_editor, project):
    form, tab = _target(project), as_editor
    older = tab.get(form.address)
    _send(tab, form, tab.get(form.address), **form.theirs)
    wrong = _send(tab, form, older, name="")
    assert wrong.status_code == 422
    assert _send(tab, form, wrong, **form.mine).status_code == 409


def test_a_tag_of_another_tab_is_no_conflict_with_what_the_form_does_not_have(as_editor, project):
    form = _plan(project)
    older = as_editor.get(form.address)
    tag_items(by=owner_of(project), items=[form.row], add=["nightly"])
    assert _send(as_editor, form, older, **form.mine).status_code == 302
    assert form.state()["tags"] == ["nightly"]


def test_a_draft_that_another_tab_changed_is_not_started_unseen(as_editor, project):
    form = _draft(project)
    older = as_editor.get(form.address)
    _send(as_editor, form, as_editor.get(form.address), **form.theirs)
    assert _send(as_editor, form, older, start="1").status_code == 409
    assert Campaign.objects.get().started_at is None


def test_what_was_typed_stays_where_it_is_archived_meanwhile(as_editor, project):
    for form in (_plan(project), _target(project)):
        older = as_editor.get(form.address)
        archive_items(by=owner_of(project), items=[form.row])
        answer = _send(as_editor, form, older, **form.mine)
        assert answer.status_code == 422
        assert form_data(answer.content)["name"] == [form.mine["name"]]


def test_an_item_that_was_deleted_meanwhile_is_not_a_server_error(as_editor, project):
    form = _name_and_tags(project)
    Target.objects.all().delete()
    with pytest.raises(Refused):
        describe_item(by=owner_of(project), item=form.row, name="late")
