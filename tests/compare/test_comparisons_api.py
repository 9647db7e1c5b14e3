"""Campaigns, tests and runs against a baseline, over REST."""

import pytest

from campaigns.compare.api import ComparedTestSerializer
from campaigns.models import Campaign
from tests.kept_cast import alice as alice
from tests.kept_cast import project as project
from tests.measured import https_campaign, run_in_blocks, same_again

FAST, SLOW = [10_000, 10_100, 9_900], [11_200, 11_250, 11_180]
URL = "/api/v1/compare/"


@pytest.fixture(scope="module")
def weeks_of_the_file(project_of_the_file):
    _, earlier = https_campaign(project_of_the_file)
    later = same_again(earlier)
    run_in_blocks(earlier, [FAST, FAST])
    run_in_blocks(later, [SLOW, FAST])
    return [tests[0].campaign_id for tests in (earlier, later)]


@pytest.fixture
def weeks(weeks_of_the_file, project):
    """Last week's campaign and today's, in which HTTP is slower."""
    return [Campaign.objects.get(pk=pk) for pk in weeks_of_the_file]


def sides(weeks, **more) -> dict[str, str]:
    return {"a": f"campaign-{weeks[0].pk}", "b": f"campaign-{weeks[1].pk}", **more}


def test_each_test_has_its_word_values_and_runs(api, weeks):
    answer = api.get(URL, sides(weeks)).json()
    assert [each["id"] for each in answer["columns"]] == [each.pk for each in weeks]
    slower, same = answer["tests"]
    assert slower.keys() == ComparedTestSerializer().fields.keys(), "as the schema promises"
    assert (slower["word"], slower["or_environment"]) == ("slower", True)
    assert (same["word"], same["or_environment"]) == ("no practical difference", False)
    values = slower["values"]
    assert values["difference"] == pytest.approx(values["candidate"] - values["baseline"], abs=0.1)
    assert values["ratio"] == pytest.approx(1.12, abs=0.01)
    assert 0 < values["could_have_shown"] < 5
    assert len(slower["baseline_runs"]) == len(slower["candidate_runs"]) == 3
    assert answer["warnings"]


def test_the_detail_is_of_the_test_that_was_asked_for(api, weeks):
    key = api.get(URL, sides(weeks)).json()["tests"][1]["key"]
    detail = api.get(URL, sides(weeks, test=key)).json()["detail"]
    assert detail["key"] == key
    keys = [table["key"] for table in detail["tables"]]
    assert keys[1:] == ["counts", "runs-a", "runs-b", "shift"]
    assert detail["curves"]["baseline"][0].keys() == {"q", "ms", "beyond"}


def test_two_runs_have_no_word_and_what_differs(api, weeks):
    first, second = weeks[0].runs.order_by("position")[:2]
    answer = api.get(URL, {"a": f"run-{first.pk}", "b": f"run-{second.pk}"}).json()
    assert answer["tests"][0]["word"] == ""
    assert any("https" in each["candidate"] for each in answer["differs"])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"b": ""}, "b"), ({"a": "", "b": ""}, "b"), ({"a": "x"}, "a"), ({"g": "run-1"}, "g")],
)
def test_what_names_no_two_columns_is_refused_by_field(api, weeks, wrong, field):
    response = api.get(URL, sides(weeks, **wrong))
    assert response.status_code == 400
    assert field in response.json()["error"]["fields"]
