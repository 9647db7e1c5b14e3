"""What the target's machine did over all runs: drawn, on the campaign's page, behind a link."""

import csv
import re
from io import StringIO

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.views.campaign_drawings import machine_run_charts
from campaigns.domain.metrics.machine import MachineRun, MachineRuns, MachineStep
from tests.cast import token_client
from tests.machines.test_machine_runs_queries import tell
from tests.measured import https_campaign, run_in_blocks
from tests.shares.test_shares import make_link, visit

pytestmark = pytest.mark.django_db
TITLE = "The target's machine over all runs"


@pytest.fixture
def campaign(project):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    for run in run_in_blocks(tests, [[12_000] * 3, [24_000] * 3]):
        tell(run, range(10))
    return campaign


def text_of(response) -> str:
    return response.content.decode().replace("&#x27;", "'")


def test_a_share_has_it_only_where_it_shows_machines(as_editor, campaign):
    without, with_machines = (
        text_of(visit(make_link(as_editor, "campaign-share", campaign.pk, **fields)))
        for fields in ({}, {"shows_machines": "on"})
    )
    assert TITLE not in without
    assert TITLE in with_machines


def means_on(page: str) -> dict[str, list[str]]:
    """Of the table below the drawing: the texts of each run."""
    table = page.split('data-table="machine-runs"')[1].split("</table>")[0]
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', table, re.DOTALL)
    return {plain(label): [plain(cell) for cell in cells_in(row)] for label, row in rows}


def cells_in(row: str) -> list[str]:
    return re.findall(r"<td.*?</td>", row, re.DOTALL)


def plain(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def means_in(text: str) -> dict[str, list[str]]:
    """Of the table in a file of all tables."""
    rows = list(csv.reader(StringIO(text)))
    start = rows.index(["Means of every run"])
    end = next((n for n in range(start, len(rows)) if not rows[n]), len(rows))
    return {label: cells for label, *cells in rows[start + 2 : end]}


def test_its_table_has_the_same_texts_on_the_page_in_both_files_and_over_rest(
    as_editor, alice, campaign
):
    api = token_client(alice)
    on_page = means_on(text_of(as_editor.get(reverse("campaign-detail", args=[campaign.pk]))))
    assert len(on_page) == 6
    assert on_page["HTTP new connection, run 1"] == ["20.0", "25.0", "1.00", "4.00"]
    blocks = {"format": "blocks"}
    files = [
        as_editor.get(reverse("campaign-csv", args=[campaign.pk]), blocks),
        api.get(f"/api/v1/campaigns/{campaign.pk}/tables.csv", blocks),
    ]
    assert [means_in(text_of(file)) for file in files] == [on_page, on_page]
    table = api.get(f"/api/v1/campaigns/{campaign.pk}/tables/").json()["machine_runs"]
    assert {row["label"]: [*row["values"].values()] for row in table["rows"]} == {
        label: [float(cell) for cell in cells] for label, cells in on_page.items()
    }
    assert [row["run"] for row in table["rows"]] == [
        run.pk for run in campaign.runs.order_by("position")
    ]


def test_each_test_has_the_mean_of_its_runs_with_an_interval(as_editor, alice, campaign):
    runs = campaign.runs.filter(test__endpoint__scheme="https").order_by("repeat")
    for run, busy_s in zip(runs, (0.5, 0.6, 0.7), strict=True):
        run.machine_seconds.all().delete()
        tell(run, range(10), busy_s=busy_s, user_s=busy_s, system_s=0.0, idle_s=2.0 - busy_s)
    address = f"/api/v1/campaigns/{campaign.pk}/tables/"
    (cpu,) = [
        row["values"]
        for row in token_client(alice).get(address).json()["machine_means"]["rows"]
        if row["label"].endswith("HTTPS new connection: CPU, % of all cores")
    ]
    # 25, 30 and 35 %; t = 4.303 of two degrees of freedom, times 5 % / √3.
    assert cpu == {"mean": 30.0, "low": 17.6, "high": 42.4, "runs": 3}
    page = text_of(as_editor.get(reverse("campaign-detail", args=[campaign.pk])))
    assert 'data-table="machine-means"' in page


def test_without_an_agent_there_is_no_table_anywhere(as_editor, alice, project):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    run_in_blocks(tests, [[12_000], [24_000]])
    answer = token_client(alice).get(f"/api/v1/campaigns/{campaign.pk}/tables/").json()
    assert (answer["machine_means"], answer["machine_runs"]) == (None, None)
    file = as_editor.get(reverse("campaign-csv", args=[campaign.pk]), {"format": "blocks"})
    assert "Means of every run" not in text_of(file)


def run_of(position: int, cpu: list[float | None], **others) -> MachineRun:
    steps = [
        MachineStep(number, cpu=value, memory=40.0, **others)
        for number, value in enumerate(cpu)
        if value is not None
    ]
    return MachineRun(100 + position, 1, position, position, tuple(steps))


def told_of(*runs: MachineRun) -> MachineRuns:
    return MachineRuns("shop-1", 1, runs)


def name_of(run: MachineRun) -> str:
    return f"run {run.repeat}"


def test_runs_stand_beside_each_other_as_wide_as_they_lasted():
    charts = machine_run_charts(told_of(run_of(1, [50] * 10), run_of(2, [50] * 30)), name_of)
    first, second = charts.panels[-1].bands
    assert (first.low, first.high) == (0, 10)
    assert second.low > first.high
    assert second.high - second.low == 30
    assert (first.label, second.label) == ("run 1", "run 2")


def test_a_line_has_a_step_for_each_second_and_none_where_nothing_was_told():
    (cpu, _) = machine_run_charts(told_of(run_of(1, [50, 100, None, 50])), name_of).panels
    (line,) = cpu.series
    points = [(round(x, 2), y) for x, y in zip(line.x, line.y, strict=True)]
    ends = [(2, 100), (2, None)], [(4, 50), (4, None)]
    assert points == [(0, 50), (1, 100), *ends[0], (3, 50), *ends[1]]
