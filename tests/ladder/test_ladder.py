"""The figures of a protocol ladder: page, CSV and REST have the same."""

import csv
from decimal import Decimal
from io import StringIO

import pytest
from django.urls import reverse

from tests.engine.scenes import owner_of
from tests.search.climbing import climb, ladder, usual_ladder

__all__ = ["climb", "ladder", "usual_ladder"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def page_of(client):
    """Gives a campaign's page to the owner of its project."""

    def page_of(campaign, name="campaign-detail", **query):
        client.force_login(owner_of(campaign.project).user)
        return client.get(reverse(name, args=[campaign.pk]), query)

    return page_of


def blocks_of(page_of, campaign, **query) -> dict[str, list[list[str]]]:
    """The tables of the CSV by their titles, what is said of each beside it."""
    answer = page_of(campaign, "api-campaign-csv", format="blocks", **query)
    tables: dict[str, list[list[str]]] = {}
    for block in answer.content.decode().split("\r\n\r\n"):
        (title, *note), *rows = csv.reader(StringIO(block))
        tables[title] = [note, *rows]
    return tables


def as_in_csv(text: str) -> str:
    """A page's figure as CSV writes it."""
    plain = text.replace(",", "").replace("\u2212", "-").removesuffix("\u202f%")
    return plain.lstrip("+").replace("–", "")


def test_csv_has_the_rungs_with_the_page_s_digits_and_what_it_says_of_them(page_of, climb):
    campaign, _ = climb(means_us=(1_899.4, 3_341.3, 2_911, 2_912, 2_501, 2_512), repeats=3, n=700)
    for metric in ("mean", "p99"):
        shown = page_of(campaign, metric=metric).context["ladder"]
        blocks = blocks_of(page_of, campaign, metric=metric)
        note, head, *rows = blocks["What each layer costs shop"]
        assert note == [shown["note"]]
        (section,) = shown["sections"]
        for drawn, row in zip(section["rungs"], rows, strict=True):
            told = dict(zip(head, row, strict=True))
            assert told[f"{metric} (ms)"] == as_in_csv(drawn["value"])
            assert bool(told.get("weak")) == bool(drawn["rung"].weak) == (metric == "p99")
            for against, step in (("rung before", drawn["before"]), ("plain HTTP", drawn["plain"])):
                if step:
                    assert told[f"difference, {against} (ms)"] == as_in_csv(step["difference"])
                    assert told[f"change, {against} (%)"] == as_in_csv(step["change"])
                    ends = [told[f"{end}, {against} (%)"] for end in ("95 % from", "to")]
                    assert ends == [as_in_csv(each) for each in step["interval"].split(" to ")]


def test_the_parts_in_csv_add_up_as_they_do_on_the_page(page_of, climb):
    campaign, _ = climb(repeats=3, connect_us=407)
    (drawn,) = page_of(campaign).context["ladder"]["parts"]
    _, head, *rows = blocks_of(page_of, campaign)["Where the time goes, mean per request"]
    assert head[2:-2] == [f"{part} (ms)" for part in drawn["parts"]]
    for (bar, own), (label, _, *cells) in zip(drawn["rows"], rows, strict=True):
        assert label == bar["label"]
        assert cells == list(map(as_in_csv, [*bar["cells"], bar["total"], own]))
        *parts, total, _ = cells
        assert sum(Decimal(each or 0) for each in parts) == Decimal(total)


def test_a_ladder_without_a_run_is_shown_without_figures(page_of, climb):
    campaign, _ = climb(means_us=())
    for name in ("campaign-detail", "api-campaign-tables"):
        assert page_of(campaign, name).status_code == 200
