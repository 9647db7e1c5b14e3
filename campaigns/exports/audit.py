"""The audit log as CSV, a row for each entry."""

from collections.abc import Iterable

from campaigns.exports.tables import csv_of_rows
from campaigns.models import AuditEntry

_COLUMNS = ("id", "at", "project_id", "project", "who", "token", "address", "deed", "what")


def csv_of_audit(entries: Iterable[AuditEntry]) -> str:
    rows = (
        {
            "id": entry.pk,
            "at": entry.at.isoformat(),
            "project_id": entry.project,
            "project": entry.project_name,
            "who": entry.who,
            "token": entry.token,
            "address": entry.address,
            "deed": entry.deed,
            "what": entry.what,
        }
        for entry in entries
    )
    return csv_of_rows(_COLUMNS, rows)
