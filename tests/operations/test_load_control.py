"""Pages of administrators: load under way, caps, storage, the audit log."""

import re

import pytest
from django.db import connection
from django.urls import reverse

from campaigns.accounts import tokens
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core.database import db_now
from campaigns.engine.services import dispatch
from campaigns.models import LoadControl, Project, Run, RunUse
from campaigns.operations.queries import stored_kinds
from campaigns.operations.services import caps
from campaigns.operations.services.caps import SAMPLE, measure_use
from campaigns.operations.services.load_control import (
    drain_from_console,
    note_dispatcher,
    stay_off_if_restored,
)
from tests.campaigns.campaign_form import cells, fields
from tests.engine.scenes import draft, host, owner_of, started
from tests.factories import make_campaign, make_plan, make_user, store_second
from tests.pages import csv_rows, page_text, text_of
from tests.values import make_second, plan_spec

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
    run, text = campaign.runs.get(), page(adam)
    places = (project.name, campaign.name, run.frozen.target, str(run.frozen.endpoint))
    for words in (*places, f"<td>{campaign.created_by}</td>", "137", "1 active run"):
        assert words in text


def test_all_load_stops_and_every_page_says_so_until_it_is_allowed(as_editor, project, run):
    lists = reverse("campaign-list", args=[project.pk])
    assert "Load is off" not in as_editor.get(lists).content.decode()
    administrator = type(as_editor)()
    administrator.force_login(make_user("ada", is_superuser=True))
    administrator.post(reverse("load-stop"))
    assert "Load is off" in as_editor.get(lists).content.decode()
    administrator.post(reverse("load-allow"))
    assert "Load is off" not in as_editor.get(lists).content.decode()


@pytest.mark.parametrize("name", ["campaign-list", "campaign-detail", "campaign-estimate"])
def test_while_load_is_off_no_page_says_when_something_will_end(as_editor, project, name):
    campaign = started(project, n_tests=2)
    test = campaign.tests.first()

    def says_when() -> bool:
        number = campaign.pk if name == "campaign-detail" else project.pk
        address = reverse(name, args=[number])
        if name != "campaign-estimate":
            answer = as_editor.get(address)
        else:
            ticks = cells(test.plan_version, test.endpoint.target, ("http", "new"))
            answer = as_editor.post(address, fields(ticks))
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


def test_an_owner_finds_use_and_caps_beside_the_members(client, project, alice):
    client.force_login(alice)
    make_plan(project)
    Project.objects.update(caps={"PLANS": 4})
    assert reverse("project-use", args=[project.pk]) in page_text(
        client, "project-members", project.pk
    )
    text = page_text(client, "project-use", project.pk)
    assert '<td class="num">1</td> <td class="num"></td> <td class="num">4</td>' in text
    assert 'value="0.250"' in text


def test_an_administrator_gives_a_project_caps_of_its_own(adam, project):
    address = reverse("caps-edit", args=[project.pk])
    adam.post(address, {"RUNS": "3", "PLANS": "0", "CAMPAIGNS": ""})
    project.refresh_from_db()
    assert project.caps == {"RUNS": 3, "PLANS": 0}
    assert "of 3</span>" in page_text(adam, "caps")
    for wrong in ({"RUNS": "-1"}, {"SLOT_PERCENT": "101"}):
        adam.post(address, wrong)
        project.refresh_from_db()
        assert project.caps == {"RUNS": 3, "PLANS": 0}


@pytest.fixture
def measured_run(run):
    """A run with five seconds, of which it is known what they take."""
    for number in range(5):
        store_second(run, make_second(number, [1000, 2000]))
    measure_use(run)
    return run


@pytest.fixture
def never_analyzed(transactional_db):
    """Else autovacuum, which comes once a minute, may count the table's rows while it is empty."""
    table = "ALTER TABLE campaigns_shardsecond"
    with connection.cursor() as cursor:
        cursor.execute(f"{table} SET (autovacuum_enabled = false)")
        yield
        cursor.execute(f"{table} RESET (autovacuum_enabled)")


@pytest.mark.django_db(transaction=True)
def test_rows_of_a_table_that_was_never_analyzed_are_not_none(never_analyzed, run):
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE campaigns_shardsecond")
        # What earlier tests of this connection have not told the statistics yet.
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT pg_stat_reset_single_table_counters('campaigns_shardsecond'::regclass)"
        )
        for number in range(5):
            store_second(run, make_second(number, [1000, 2000]))
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT 1")
    (seconds,) = (kind for kind in stored_kinds() if kind.name == "Seconds")
    # Other connections tell what earlier tests wrote when they come to it.
    assert 5 <= seconds.n_rows < 50


def test_a_large_run_is_measured_by_a_sample(run, monkeypatch):
    for number in range(30):
        store_second(run, make_second(number, [1000, 2000]))
    measure_use(run)
    exact = RunUse.objects.get().seconds_bytes
    monkeypatch.setattr(caps, "SAMPLE", 10)
    measure_use(run)
    assert SAMPLE > 30
    assert RunUse.objects.get().seconds_bytes == pytest.approx(exact, rel=0.05)


def test_kinds_add_up_to_all_tables(measured_run, django_assert_num_queries):
    with django_assert_num_queries(1):
        kinds = stored_kinds()
    assert [kind.name for kind in kinds][-1] == "All other tables"
    assert all(kind.total_bytes > 0 for kind in kinds)


@pytest.fixture
def share_link(as_bob, project):
    campaign = make_campaign(project, "=nightly")
    tokens.create_share(by=as_bob, project=project, campaign=campaign, days=7)


def test_an_owner_reads_who_did_what(client, alice, project, share_link):
    client.force_login(alice)
    page = client.get(reverse("audit", args=[project.pk])).content.decode()
    assert "link to =nightly, 7 days" in page
    assert '<th scope="row">bob' in page


def test_an_administrator_reads_everything_page_by_page(client, as_adam, project, share_link):
    for number in range(120):
        tokens.create_token(by=as_adam, name=f"token {number}", scope="read", days=1)
    client.force_login(as_adam.user)
    first = client.get(reverse("audit-all"))
    assert "token 119" in first.content.decode()
    older = client.get(reverse("audit-all"), {"page": first.context["page"].next})
    assert "link to =nightly" in older.content.decode()
    assert project.name in older.content.decode()


def test_the_file_has_a_row_each_and_no_formula(client, alice, project, share_link):
    client.force_login(alice)
    (row,) = csv_rows(client.get(reverse("audit-csv", args=[project.pk])))
    assert (row["who"], row["deed"], row["project"]) == ("bob", "shared", project.name)
    assert row["what"].startswith("link to")
