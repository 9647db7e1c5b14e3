"""The matrix of several targets as its page has it: each cell beside its target, one axis."""

import re

import pytest
from django.urls import reverse

from tests.queries.test_target_matrix import around, ask
from tests.views.pages import text_of

__all__ = ["ask"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client, alice, ask):
    client.force_login(alice)
    campaign, _, _ = ask({"L1": [around(2000), around(1800)], "L2": [around(2100), around(2300)]})
    return client.get(reverse("campaign-detail", args=[campaign.pk]))


def test_each_value_stands_under_the_head_of_its_target(page):
    table = text_of(page).partition('class="table as-blocks matrix"')[2].partition("</table>")[0]
    head, _, body = table.partition("</thead>")
    heads = [re.sub("<.+?>", " ", each) for each in re.findall("<th .+?</th>", head)]
    cells = re.findall("<t[hd].+?</t[hd]>", body.partition("</tr>")[0])
    assert "colspan" not in head
    assert len(heads) == len(cells)
    for name in ("apache", "nginx"):
        (place,) = (n for n, each in enumerate(heads) if each.split()[0] == name)
        assert f"{name}</span>" in cells[place]


def test_the_axis_is_in_percent_and_has_room_between_its_ticks(page):
    ticks = page.context["matrix"]["axis"].ticks
    assert "0" in [tick.text for tick in ticks]
    assert all(text in text_of(page) for text in (f">{tick.text}</text>" for tick in ticks))
