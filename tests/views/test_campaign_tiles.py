"""What the tile of an overhead says beside its change."""

import pytest

from campaigns.queries.answers import campaign_answer
from campaigns.views.campaign_page import tiles_of
from tests.factories import make_project
from tests.queries.measured import https_campaign, run_in_blocks

pytestmark = pytest.mark.django_db


def lines_of_overhead(http_us: list[int], https_us: list[int]) -> list[str]:
    campaign, tests = https_campaign(make_project())
    run_in_blocks(tests, [http_us, https_us])
    return [line.replace("\u202f", " ") for line in tiles_of(campaign_answer(campaign))[0]["lines"]]


def test_what_takes_longer_is_a_part_of_the_https_time():
    lines = lines_of_overhead([20_000, 20_100, 19_900], [40_000, 40_200, 39_800])
    assert lines[1] == "+20.0 ms, 50.0 % of HTTPS time"


def test_what_takes_no_longer_is_no_part_of_the_https_time():
    lines = lines_of_overhead([40_000, 40_200, 39_800], [20_000, 20_100, 19_900])
    assert lines[1] == "−20.0 ms"
