"""Several targets at several plans: who is the fastest where, and what cannot be told."""

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.shown.sentences import plain_text
from campaigns.queries.answers import campaign_answer
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.queries.measured import run_in_blocks, spoil
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
SPEC = plan_spec(model="over", requests=2000, over_s=10)


@pytest.fixture
def ask(project):
    """A finished campaign of these targets and plans; `means_us` by plan has a list per target."""

    def ask(means_us: dict[str, list[list[float]]], names=("apache", "nginx")):
        now = timezone.now()
        repeats = len(next(iter(means_us.values()))[0])
        campaign = make_campaign(
            project, repeats=repeats, order="blocks", started_at=now, finished_at=now
        )
        endpoints = [make_endpoint(make_target(project, name)) for name in names]
        runs = []
        for plan, means in means_us.items():
            version = make_plan(project, plan, spec=SPEC)
            tests = [make_test(campaign, version, endpoint=endpoint) for endpoint in endpoints]
            runs += run_in_blocks(tests, means)
        return campaign, runs, lambda: campaign_answer(campaign)

    return ask


def around(mean_us: float) -> list[float]:
    return [mean_us * factor for factor in (0.99, 1.01, 1.0, 0.995, 1.005)]


def test_the_best_of_a_row_is_named_with_its_interval_against_the_second(ask):
    _, _, answer = ask({"L1": [around(20_000), around(10_000)]})
    (row,) = answer().matrix.rows
    assert row.best == "nginx"
    assert row.best_words.startswith("\u221250.0\u202f% [")
    assert row.best_words.endswith("against apache")
    assert plain_text(answer().sentence).startswith("nginx is the fastest at L1.")


def test_targets_that_cannot_be_told_apart_have_no_best(ask):
    wide = [10_000, 13_000, 9_000, 12_000, 11_000]
    _, _, answer = ask({"L1": [wide, list(reversed(wide))]})
    (row,) = answer().matrix.rows
    assert row.best == ""
    assert row.best_words.startswith("first two")
    assert row.why
    said = plain_text(answer().sentence)
    assert said.startswith("No target is clearly ahead at L1.")


def test_the_sentence_says_who_leads_where(ask):
    _, _, answer = ask(
        {
            "L1": [around(20_000), around(10_000)],
            "L2": [around(10_000), around(20_000)],
            "L3": [around(10_000), around(30_000)],
        }
    )
    assert plain_text(answer().sentence).startswith(
        "No target is the fastest everywhere. nginx takes the least time at L1, apache takes the "
        "least time at L2 and L3."
    )


def test_differences_are_relative_to_the_chosen_column(ask):
    campaign, _, answer = ask({"L1": [around(20_000), around(10_000)]})
    first, second = answer().matrix.rows[0].cells
    assert first.against is None
    assert second.against.ratio == pytest.approx(0.5, rel=0.01)
    first, second = campaign_answer(campaign, relative=2).matrix.rows[0].cells
    assert first.against.ratio == pytest.approx(2, rel=0.01)
    assert second.against is None


def test_a_run_that_cannot_be_used_is_in_no_mean_and_in_no_best(ask):
    _, runs, answer = ask({"L1": [around(20_000), around(10_000)]})
    for run in runs:
        if run.target.name == "nginx":
            spoil(run, cpu=0.99)
    cell = answer().matrix.rows[0].cells[1]
    assert cell.mean is None
    assert "Not usable" in cell.why
    assert answer().matrix.rows[0].best == ""


def test_fewer_repeats_than_planned_are_marked(ask):
    _, runs, answer = ask({"L1": [around(20_000), around(10_000)]})
    spoil(runs[0], cpu=0.99)
    first, second = answer().matrix.rows[0].cells
    assert (first.is_short, first.mean.k) == (True, 4)
    assert not second.is_short
    assert answer().matrix.rows[0].best == "nginx"


def test_two_repeats_have_means_and_neither_interval_nor_best(ask):
    _, _, answer = ask({"L1": [[20_000, 20_100], [10_000, 10_100]]})
    (row,) = answer().matrix.rows
    assert row.best_words == "A best needs 3 usable repeats of two targets."
    assert answer().matrix.table.rows[0].cells[2].value is None


def test_one_target_has_no_matrix(project):
    campaign = make_campaign(project)
    target = make_target(project)
    for scheme in ("http", "https"):
        make_test(campaign, endpoint=make_endpoint(target, scheme))
    assert campaign_answer(campaign).matrix is None


def test_the_page_the_csv_and_the_api_have_it(client, alice, ask):
    campaign, _, _ = ask({"L1": [around(20_000), around(10_000)], "R1": [around(30_000)] * 2})
    client.force_login(alice)
    page = client.get(reverse("campaign-detail", args=[campaign.pk]) + "?relative=2")
    text = page.content.decode()
    assert "Every target at every plan" in text
    assert "ms, against nginx" in text
    csv = client.get(reverse("campaign-csv", args=[campaign.pk]) + "?format=blocks")
    assert "Every target at every plan, differences to apache" in csv.content.decode()
    found = client.get(f"/api/v1/campaigns/{campaign.pk}/tables/").json()["matrix"]
    assert [(row["label"], row["values"]["target"]) for row in found["rows"]] == [
        ("L1", "apache"),
        ("L1", "nginx"),
        ("R1", "apache"),
        ("R1", "nginx"),
    ]
    assert found["rows"][1]["values"]["best"] == "best"
