"""The charts of a campaign with many tests, and several targets of one side by side."""

import re

import pytest
from django.urls import reverse

from campaigns.campaigns.views import campaign_runs
from campaigns.campaigns.views.campaign_runs import told_apart
from campaigns.domain.analysis.ratio import Against
from campaigns.models import TestFigures
from campaigns.runs.services import keep_figures
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_target,
    make_test,
)
from tests.matrix.test_target_matrix import around, ask
from tests.measured import run_in_blocks, spoil
from tests.pages import text_of
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
SPEC = plan_spec(model="over", requests=2000, over_s=10)


@pytest.fixture(autouse=True)
def _little_is_much(monkeypatch):
    monkeypatch.setattr(campaign_runs, "_MOST_LINES", 3)
    monkeypatch.setattr(campaign_runs, "_NAMED", 2)
    monkeypatch.setattr(campaign_runs, "_MOST_GROUPS", 2)
    monkeypatch.setattr(campaign_runs, "_MOST_TABLES", 3)


@pytest.fixture
def make(project):
    """The tests of a finished campaign, each slower than the one before: of one plan on so many
    ports, or of so many plans on one."""

    def make(n: int, *, one_plan: bool = True):
        campaign = make_campaign(project, **just_now(), repeats=1)
        plans = [make_plan(project, "plan 0", SPEC)]
        plans += [
            plans[0] if one_plan else make_plan(project, f"plan {k}", SPEC) for k in range(1, n)
        ]
        target = make_target(project)
        ends = [make_endpoint(target, port=9000)]
        ends += [make_endpoint(target, port=9000 + k) if one_plan else ends[0] for k in range(1, n)]
        tests = [
            make_test(campaign, plan, endpoint=end) for plan, end in zip(plans, ends, strict=True)
        ]
        run_in_blocks(tests, [[10_000 * (k + 1)] for k in range(n)])
        return tests

    return make


@pytest.fixture
def page_of(as_editor):
    def page_of(test, query: str = ""):
        address = reverse("campaign-detail", args=[test.campaign_id])
        return as_editor.get(address + query)

    return page_of


def named_in(page) -> list[str]:
    (plot,) = page.context["plots"]
    return [line.name for line in lines_of(plot) if not line.grey]


def lines_of(plot):
    (chart,) = plot["percentiles"].panels
    return [line for line in chart.series if line.look == "line"]


@pytest.mark.parametrize(
    ("n_tests", "choice", "names"),
    [(3, None, [":9000", ":9001", ":9002"]), (5, 1, [":9001", ":9004"])],
)
def test_a_chart_of_few_tests_names_them_all_and_of_many_the_one_that_was_chosen(
    page_of, make, n_tests, choice, names
):
    tests = make(n_tests)
    query = "" if choice is None else f"?repeats={tests[choice].pk}"
    assert named_in(page_of(tests[0], query)) == names


def test_a_crowded_chart_names_the_slowest_and_draws_the_others_without_a_name(page_of, make):
    page = page_of(make(5)[0])
    assert named_in(page) == [":9003", ":9004"]
    (plot,) = page.context["plots"]
    assert len(lines_of(plot)) == 5
    assert len({line.style.token for line in lines_of(plot) if not line.grey}) == 2


def test_what_changed_against_its_baseline_is_named_before_the_slowest(page_of, make):
    tests = make(5)
    keep_figures([test.pk for test in tests])
    for test, word, ratio in ((tests[1], "faster", 0.5), (tests[0], "slower", 1.1)):
        against = Against("release 1", "p95", word, "", ratio, ratio * 0.9, ratio * 1.1)
        assert TestFigures.objects.filter(pk=test.pk).update(against=against.to_json())
    assert named_in(page_of(tests[0])) == [":9000", ":9001"]


def test_very_many_plans_share_one_chart_and_one_choice(page_of, make):
    page = page_of(make(4, one_plan=False)[0])
    assert [plot["plan"] for plot in page.context["plots"]] == ["All 4 plans"]
    assert named_in(page) == ["plan 2", "plan 3"]
    choice = re.findall(r"repeats=\d+#every-repeat\">([^<]+)<", page.content.decode())
    assert choice == ["plan 0", "plan 1", "plan 2", "plan 3"]


def test_of_many_tests_the_tiles_have_the_slowest(page_of, make):
    first, *_, rest = page_of(make(6)[0]).context["tiles"]
    assert first["title"].endswith(":9005")
    assert (rest["value"], rest["lines"][0]) == ("2", "none slower on average")


def test_labels_lose_what_all_share():
    for labels, short in [
        (["HTTP new"], ["HTTP new"]),
        (["a, x, 1", "a, y, 1"], ["x", "y"]),
        (["a, x", "a"], ["x", "a"]),
        (["a", "a"], ["a", "a"]),
        (["a, 1", "b, 2"], ["a, 1", "b, 2"]),
    ]:
        assert list(told_apart(dict(enumerate(labels))).values()) == short


__all__ = ["ask"]


@pytest.fixture
def matrix_page(client, alice, ask):
    client.force_login(alice)
    campaign, runs, _ = ask({"L1": [around(2000), around(1800)], "L2": [around(2100)] * 2})
    return runs, reverse("campaign-detail", args=[campaign.pk])


def test_each_value_stands_under_the_head_of_its_target(client, matrix_page):
    page = text_of(client.get(matrix_page[1]))
    table = page.partition('class="table as-blocks matrix"')[2].partition("</table>")[0]
    head, _, body = table.partition("</thead>")
    heads = [re.sub("<.+?>", " ", each) for each in re.findall("<th .+?</th>", head)]
    cells = re.findall("<t[hd].+?</t[hd]>", body.partition("</tr>")[0])
    assert "colspan" not in head
    assert len(heads) == len(cells)
    for name in ("apache", "nginx"):
        (place,) = (n for n, each in enumerate(heads) if each.split()[0] == name)
        assert f"{name}</span>" in cells[place]


def table_of(client, address: str):
    return client.get(address).context["repeat_table"]


def test_the_mean_stands_above_every_repeat_and_each_target_has_total_mean_min_and_max(
    client, matrix_page
):
    _, address = matrix_page
    table = table_of(client, address)
    assert [name for name, _ in table.targets] == ["apache", "nginx"]
    assert [row.label for row in table.rows] == ["Mean", *(f"Repeat {n}" for n in range(1, 6))]
    assert [title for title, _ in table.heads] == ["total", "mean", "min", "max"]
    mean, *repeats = [row.targets[0].cells[1].value for row in table.rows]
    assert mean == pytest.approx(sum(repeats) / 5, rel=0.01) == pytest.approx(2.0, rel=0.02)


def test_the_reader_chooses_the_plan(client, matrix_page):
    _, address = matrix_page
    assert [each[1:] for each in table_of(client, address).plans] == [("L1", True), ("L2", False)]
    table = table_of(client, f"{address}?plan=2")
    assert table.plan == "L2"
    assert table.rows[0].targets[1].cells[1].value == pytest.approx(2.1, rel=0.02)
    assert table_of(client, f"{address}?plan=99").plan == "L1", "unknown: the first"


def test_a_run_that_cannot_be_used_is_grey_and_says_why(client, matrix_page):
    runs, address = matrix_page
    spoil(runs[0], missing_seconds=0.5)
    rows = table_of(client, address).rows
    spoilt = [row.targets[0] for row in rows if row.targets[0].is_apart]
    assert [each.why for each in spoilt] == ["No answer: 50.0\u202f% of the seconds are missing"]
