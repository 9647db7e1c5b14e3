import pytest
from django.utils import timezone

from campaigns.accounts.tokens import create_share
from campaigns.core.permissions import Actor
from campaigns.domain.metrics.machine import watched_s
from campaigns.machines.queries.machine_runs import machine_report, machine_tables
from campaigns.models import MachineSecond, Run
from campaigns.runs.services import summarise_run
from campaigns.runs.views.run_page import run_context
from tests.factories import make_run, make_test
from tests.measured import https_campaign, measure, run_in_blocks

pytestmark = pytest.mark.django_db
CPU = {"user_s": 0.3, "system_s": 0.1, "interrupts_s": 0.0, "stolen_s": 0, "idle_s": 1.6}


def tell(run, seconds, source: str = "shop-1", **did) -> None:
    did = {**CPU, "cores": [20, 20], **did}
    MachineSecond.objects.bulk_create(
        MachineSecond(
            run=run,
            source=source,
            second=second,
            lasted_s=1,
            busy_s=0.4,
            watched_s=watched_s(did),
            did=did,
        )
        for second in seconds
    )


@pytest.fixture
def finished(campaign):
    """Ten seconds with 200 ok requests each."""
    return measure(make_run(make_test(campaign)), 10_000)


def text_of(table, label: str) -> str:
    return next(row.cells[0].text for row in table.rows if row.label == label)


def test_the_table_covers_the_measurement_alone(finished):
    tell(finished, [-2, -1], user_s=2.0)
    tell(finished, range(10))
    tell(finished, [10, 11], user_s=2.0)
    limit, table = machine_tables(finished)
    assert text_of(table, "CPU, % of 2 cores") == "20.0"
    assert text_of(table, "CPU seconds per 1,000 requests") == "2.00"
    assert limit.title == "No bottleneck"
    assert text_of(limit, "target: CPU, %") == "20"


def test_the_cost_is_that_of_the_seconds_that_were_told(finished):
    tell(finished, [0, 1, 2, 7, 8])
    _, table = machine_tables(finished)
    assert text_of(table, "CPU seconds per 1,000 requests") == "2.00"
    assert table.note.startswith("5 of 10 seconds")


def test_each_machine_has_a_table_and_the_charts_are_of_the_first(finished):
    tell(finished, range(10), source="shop-2")
    tell(finished, range(3), source="shop-1")
    report = machine_report(finished)
    assert [table.key for table in report["tables"]] == ["machine-shop-1", "machine-shop-2"]
    assert report["columns"]["second"] == [0, 1, 2]


def test_a_target_whose_cpu_was_full_was_the_limit(project):
    _, tests = https_campaign(project, repeats=1, started_at=timezone.now())
    first, _ = run_in_blocks(tests, [[10_000], [20_000]])
    tell(first, range(10), idle_s=0.0)
    summarise_run(first)
    (limit, _) = machine_tables(Run.objects.get(pk=first.pk))
    assert limit.title == "Bottleneck: the target"


def test_a_run_under_way_has_no_cost_yet(campaign):
    run = make_run(make_test(campaign))
    tell(run, range(4))
    (table,) = machine_tables(run)
    assert text_of(table, "CPU, % of 2 cores") == "20.0"
    assert "CPU seconds per 1,000 requests" not in [row.label for row in table.rows]


@pytest.mark.parametrize("shows_machines", [True, False])
def test_a_share_shows_the_machine_only_where_it_says_so(finished, as_bob, shows_machines):
    tell(finished, range(10))
    project = finished.campaign.project
    link, _ = create_share(
        by=as_bob, project=project, run=finished, days=1, shows_machines=shows_machines
    )
    context = run_context(finished, Actor(share=link))
    assert bool(context["machine"]) is shows_machines
