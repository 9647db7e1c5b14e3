"""Writes what docs/ has from plan fields, criteria and the glossary: `make docs`."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from campaigns.domain.analysis.criteria import CRITERIA, Aspect, Limits
from campaigns.domain.analysis.judgement import value_words
from campaigns.domain.presentation.glossary import TERMS
from campaigns.domain.units import percent
from docs.plan_fields import written_schema, written_tables

_MARK = re.compile(r"(<!-- criteria: (\w+) -->\n).*?(<!-- end -->)", re.S)
_HEADS = {
    Aspect.MEASUREMENT: ("code", "note", "decides", "meaning", "what to do"),
    Aspect.TARGET: ("code", "answer", "from", "meaning"),
    Aspect.NOTE: ("code", "from", "meaning"),
}


def written_criteria(text: str) -> str:
    """Markdown with the table of an aspect below its mark, <!-- criteria: target -->."""
    return _MARK.sub(lambda match: f"{match[1]}{_table(Aspect(match[2]))}{match[3]}", text)


def _table(aspect: Aspect) -> str:
    rows = [_HEADS[aspect], ("---",) * len(_HEADS[aspect]), *_rows(aspect)]
    return "\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n\n"


def _rows(aspect: Aspect) -> Iterator[tuple[str, ...]]:
    for code, row in CRITERIA.items():
        noted, decides = _limit(code, "mild"), _limit(code, "severe")
        if row.aspect != aspect:
            continue
        if aspect == Aspect.MEASUREMENT:
            state = row.state.replace("_", " ")
            yield code, noted, decides and f"{decides}: {state}", row.meaning, row.remedy
        elif aspect == Aspect.TARGET:
            second = f", second limit {decides}" if decides else ""
            yield code, row.state, noted + second, row.meaning
        else:
            yield code, noted, row.meaning


def _limit(code: str, name: str) -> str:
    row = CRITERIA[code]
    limit, share = (getattr(each or Limits(), name) for each in (row.limits, row.share))
    if limit is None:
        return ""
    if not limit and not row.less_is_worse:
        return "any"
    sign, words = "<" if row.less_is_worse else ">", value_words(code, limit)
    words = percent(limit, decimals=1) if row.less_is_worse and not row.unit else words
    return f"{sign} {words}" + (f" and > {percent(share, decimals=0)}" if share else "")


def as_markdown() -> str:
    """The text of docs/glossary.md."""
    lines = (f"- **{term.name}**: {term.meaning}" for term in TERMS)
    return "\n".join(("# Glossary", "", _INTRO, "", *lines, ""))


_INTRO = (
    "The terms of the pages, the API and these documents. Every installation shows them at "
    "`/glossary/`. `make docs` writes this file."
)


WRITERS: dict[Path, Callable[[str], str]] = {
    Path(__file__).parent / name: writer
    for name, writer in (
        ("plan.md", written_tables),
        ("command-line.md", written_tables),
        ("injector.schema.json", written_schema),
        ("glossary.md", lambda _: as_markdown()),
        ("measuring.md", written_criteria),
    )
}

if __name__ == "__main__":
    for path, writer in WRITERS.items():
        path.write_text(writer(path.read_text()))
