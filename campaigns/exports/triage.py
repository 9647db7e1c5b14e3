"""Triage as CSV: a row for each change of a test, with the state of its entry. Times in µs."""

from collections.abc import Iterable
from typing import Any

from campaigns.domain.shown.history_words import words_of_causes
from campaigns.exports.tables import csv_of_rows
from campaigns.models import TriageChange, TriageEntry

_COLUMNS = (
    *("entry", "state", "target", "plan", "endpoint", "connection_mode", "injectors", "since"),
    *("since_campaign", "began_after", "began_until", "before_us", "after_us", "change"),
    *("change_low", "change_high", "p_value", "causes", "reference_change"),
    *("who", "when", "why", "link"),
)


def csv_of_triage(entries: Iterable[TriageEntry]) -> str:
    rows = (_row(entry, change) for entry in entries for change in entry.changes.all())
    return csv_of_rows(_COLUMNS, rows)


def _row(entry: TriageEntry, change: TriageChange) -> dict[str, Any]:
    note = next(iter(entry.notes.all()), None)
    said = note and {
        "who": note.by.username if note.by else "",
        "when": note.at.isoformat(),
        "why": note.why,
        "link": note.link,
    }
    return {
        "entry": entry.pk,
        "state": entry.state,
        "target": entry.target.name,
        "plan": change.plan.name,
        "endpoint": change.endpoint.origin,
        "connection_mode": change.connection_mode,
        "injectors": change.injectors,
        "since": change.since_at.isoformat(),
        "since_campaign": change.since_id,
        "began_after": change.after_at.isoformat(),
        "began_until": change.until_at.isoformat(),
        "before_us": change.before_us,
        "after_us": change.after_us,
        "change": change.ratio - 1,
        "change_low": change.low - 1,
        "change_high": change.high - 1,
        "p_value": change.p_value,
        "causes": words_of_causes(change.causes),
        "reference_change": change.reference_ratio and change.reference_ratio - 1,
        **(said or {}),
    }
