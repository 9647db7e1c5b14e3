"""Two runs side by side, as on their page."""

import pytest

from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.queries.measured import measure


@pytest.fixture
def pair(project):
    version, target = make_plan(project), make_target(project)
    tests = [
        make_test(make_campaign(project), version, endpoint=make_endpoint(target, scheme))
        for scheme in ("http", "https")
    ]
    return [measure(make_run(each), us) for each, us in zip(tests, (10_000, 15_000), strict=True)]


def test_the_figures_of_both_and_their_difference(api, pair):
    found = api.get(f"/api/v1/compare/{pair[0].pk}/{pair[1].pk}/").json()
    assert (found["baseline"], found["candidate"]) == (pair[0].pk, pair[1].pk)
    mean = found["table"]["rows"][0]["values"]
    assert mean["difference"] == pytest.approx(mean["candidate"] - mean["baseline"], abs=0.1)
    assert mean["ratio"] == pytest.approx(1.5, abs=0.01)
    assert "Two single runs" in found["note"]
    assert found["curves"]["baseline"][0].keys() == {"q", "ms", "beyond"}


def test_it_says_what_differs_in_the_settings(api, pair):
    differs = api.get(f"/api/v1/compare/{pair[0].pk}/{pair[1].pk}/").json()["differs"]
    assert any("https" in str(each["candidate"]).lower() for each in differs)


def test_a_run_that_does_not_exist_is_not_found(api, pair):
    assert api.get(f"/api/v1/compare/{pair[0].pk}/987654/").status_code == 404
