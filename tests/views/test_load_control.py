"""The page from which an administrator sees and stops the load of all projects."""

import re

import pytest
from django.urls import reverse

from campaigns.models import LoadControl, Run
from campaigns.models.dbtime import db_now
from campaigns.services import dispatch
from campaigns.services.campaigns import start_campaign
from campaigns.services.load_control import (
    drain_from_console,
    note_dispatcher,
    stay_off_if_restored,
)
from tests.factories import make_plan, make_user
from tests.services.engine import draft, host, owner_of, started
from tests.values import plan_spec
from tests.views.campaign_form import cells, fields
from tests.views.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(project):
    campaign = started(project)
    host(slots=1)
    dispatch.admit_runs()
    return campaign.runs.get()


def page(client) -> str:
    return client.get(reverse("load")).content.decode()


def test_it_lists_who_puts_what_under_which_load(adam, project):
    campaign = draft(project)
    spec = plan_spec(model="open", rate_per_s=137, duration_s=10)
    campaign.tests.update(plan_version=make_plan(project, "fast", spec))
    start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
    host(slots=1)
    dispatch.admit_runs()
    run, shown = campaign.runs.get(), page(adam)
    places = (project.name, campaign.name, run.frozen.target, str(run.frozen.endpoint))
    for words in (*places, f"<td>{campaign.created_by}</td>", "137", "1 active run"):
        assert words in shown


def test_all_load_stops_and_every_page_says_so_until_it_is_allowed(as_editor, project, run):
    lists = reverse("campaign-list", args=[project.pk])
    assert "Load is off" not in as_editor.get(lists).content.decode()
    administrator = type(as_editor)()
    administrator.force_login(make_user("ada", is_superuser=True))
    administrator.post(reverse("load-stop"))
    assert "Load is off" in as_editor.get(lists).content.decode()
    administrator.post(reverse("load-allow"))
    assert "Load is off" not in as_editor.get(lists).content.decode()


@pytest.mark.parametrize("shown", ["campaign-list", "campaign-detail", "campaign-estimate"])
def test_while_load_is_off_no_page_says_when_something_will_end(as_editor, project, shown):
    campaign = started(project, n_tests=2)
    test = campaign.tests.first()

    def says_when() -> bool:
        number = campaign.pk if shown == "campaign-detail" else project.pk
        address = reverse(shown, args=[number])
        if shown != "campaign-estimate":
            answer = as_editor.get(address)
        else:
            ticked = cells(test.plan_version, test.endpoint.target, ("http", "new"))
            answer = as_editor.post(address, fields(ticked))
        words = r"ends about \d|about \d[^<]* left|Ends</dt> <dd> \d"
        return bool(re.search(words, text_of(answer)))

    assert says_when()
    drain_from_console()
    assert not says_when()


def test_a_silent_dispatcher_is_named_on_every_page_and_to_monitors(as_editor, project):
    lists = reverse("campaign-list", args=[project.pk])
    stay_off_if_restored()
    note_dispatcher()
    assert as_editor.get(reverse("readyz")).json()["dispatcher"] == "ok"
    assert "not been heard of" not in as_editor.get(lists).content.decode()
    LoadControl.objects.update(dispatcher_seen_at=db_now(-40))
    assert "not been heard of for 4" in as_editor.get(lists).content.decode()
    answer = as_editor.get(reverse("readyz"))
    assert answer.status_code == 200
    assert answer.json()["dispatcher"].startswith("not heard of for 4")


def test_an_owner_stops_all_load_of_the_project_from_its_page(client, alice, project, run):
    client.force_login(alice)
    use, address = (reverse(name, args=[project.pk]) for name in ("project-use", "project-stop"))
    assert f'action="{address}"' in client.get(use).content.decode()
    answer = client.post(address, follow=True)
    assert answer.redirect_chain == [(use, 302)]
    assert Run.objects.get(pk=run.pk).stop_requested == "user"
