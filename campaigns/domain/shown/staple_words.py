"""A stapled OCSP reply in words."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple


class StapleWords(NamedTuple):
    """`is_bad`: a browser that looks at it refuses the certificate, or ignores the reply."""

    text: str
    is_bad: bool


def staple_words(facts: Mapping[str, Any] | None, now: datetime) -> StapleWords:
    """`facts` as services.staples reads them; None if none came."""
    if not facts:
        return StapleWords("none sent", is_bad=False)
    faults = list(_faults(facts, now))
    status = facts["status"]
    until = facts.get("next_update")
    words = [status, f"valid until {until[:10]}" if until else "", *faults]
    if "is_signed" in facts and facts["is_signed"] is None:
        words.append("signature not checked: the server did not send the issuer")
    return StapleWords(", ".join(filter(None, words)), bool(faults) or status != "good")


def _faults(facts: Mapping[str, Any], now: datetime) -> Iterator[str]:
    if facts.get("is_of_it") is False:
        yield "but of another certificate"
    if facts.get("is_signed") is False:
        yield "but not signed by the issuer"
    if facts.get("next_update") and datetime.fromisoformat(facts["next_update"]) < now:
        yield "but outdated"
