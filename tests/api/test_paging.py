"""Lists that are read in pages while new rows come in."""

import pytest
from django.utils import timezone

from tests.factories import make_campaign, make_run, make_test


@pytest.mark.parametrize("name", ["page", "page_size"])
@pytest.mark.parametrize("odd", ["", "0", "-1", "1.5", "last", "1e1", "1_0", "²"])
def test_what_is_no_number_of_a_page_is_refused_with_what_to_write(api, name, odd):
    answer = api.get("/api/v1/campaigns/", {name: odd})
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"] == {name: "Write a number from 1."}


def read_whole(api, address: str, make) -> list[int]:
    """The ids of all pages; something new is made before each but the first."""
    seen = []
    while address:
        page = api.get(address).json()
        seen += [row["id"] for row in page["results"]]
        address = page["next"]
        make()
    return seen


def test_campaigns_by_id_come_once_each_while_new_ones_are_created(api, project):
    there = [make_campaign(project).pk for _ in range(5)]
    more = iter(range(2))

    def make():
        if next(more, None) is not None:
            make_campaign(project)

    seen = read_whole(api, "/api/v1/campaigns/?ordering=id&page_size=2", make)
    assert seen[:5] == there
    assert len(seen) == len(set(seen)) == 7


def test_runs_until_a_time_come_once_each_while_new_ones_begin(api, project):
    def make():
        make_run(make_test(make_campaign(project)), t0=timezone.now())

    for _ in range(5):
        make()
    until = timezone.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    seen = read_whole(api, f"/api/v1/runs/?until={until}&page_size=2", make)
    assert len(seen) == len(set(seen)) == 5
