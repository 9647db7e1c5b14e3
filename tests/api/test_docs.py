"""docs/api.md names every address of the API, and has an example of each."""

import re
from pathlib import Path

import pytest

from campaigns.api.urls import urlpatterns

DOC = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
TABLE = DOC.split("## URLs")[1].split("\n## ")[0]
EXAMPLES = "\n".join(re.findall(r"^```sh\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL))
NUMBER = re.compile(r"<int:(\w+)>")
ROUTES = [str(each.pattern) for each in urlpatterns if each.name != "api-nothing-here"]


def in_words(route: str) -> str:
    """projects/<int:pk>/ is projects/ID/ in the table; a version is named by its NUMBER."""
    return NUMBER.sub(lambda found: "NUMBER" if found[1] == "number" else "ID", route)


def test_the_table_has_every_address_and_no_other():
    rows = [line.split("|")[1] for line in TABLE.splitlines() if line.startswith("| `")]
    named = re.findall(r"`([a-z][^`?]*)`", " ".join(re.sub(r"\([^)]*\)", "", row) for row in rows))
    assert sorted(named) == sorted(map(in_words, ROUTES))


@pytest.mark.parametrize("route", ROUTES)
def test_every_address_has_an_example(route):
    shell = NUMBER.sub("ID", route)
    called = re.escape(shell).replace("ID", r"(?:\$\w+|\d+)")
    assert re.search(rf"\$SITE/{called}(?![\w/.$])", EXAMPLES), f"docs/api.md has none of {route}"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\$SITE/\S*?\$(\w+)", EXAMPLES))))
def test_what_an_example_puts_into_an_address_is_an_id(name):
    made = re.search(rf"^{name}=\$\((.*?)\)$", EXAMPLES, re.MULTILINE | re.DOTALL)
    assert made, f"no example sets {name}"
    assert re.search(r"\| jq (\S*\.id|\.campaign|'[^']*\bid\b[^']*')$", made[1]), made[1]
