"""Reads a probe's stored result for its page."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from campaigns.domain.measured.snapshot import PARTS
from campaigns.domain.shown.exchange_tables import close_words
from campaigns.domain.shown.remedies import remedy, words_of
from campaigns.domain.shown.staple_words import StapleWords, staple_words
from campaigns.domain.units import decimals_for_parts, number
from campaigns.models import Probe

PICKED_UP_WITHIN = timedelta(seconds=10)
_ACCEPT_WORDS = {
    "right": "answers the key",
    "wrong": "does not answer the key",
    "missing": "is missing",
}
GIVEN_UP_AFTER = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class ProbePhase:
    """One phase; `start_us` counts from the start of the attempt."""

    name: str
    start_us: int
    duration_us: int
    start_ms: str
    duration_ms: str
    share_percent: str


@dataclass(frozen=True, slots=True)
class ProbeReport:
    sentence: str
    is_ok: bool
    mend: str
    detail: str
    parts: list[ProbePhase]
    total_ms: str
    certificates: list[dict[str, Any]]
    certificate_days_left: int | None
    websocket: list[tuple[str, str]]
    staple: StapleWords | None

    @property
    def certificate_days_ago(self) -> int:
        """Days since the certificate expired, rounded up."""
        return -(self.certificate_days_left or 0)


def is_waiting_long(probe: Probe, now: datetime) -> bool:
    return probe.finished_at is None and now - probe.requested_at > PICKED_UP_WITHIN


def is_given_up(probe: Probe, now: datetime) -> bool:
    return probe.finished_at is None and now - probe.requested_at > GIVEN_UP_AFTER


def report_of(probe: Probe, now: datetime) -> ProbeReport:
    result = probe.result or {}
    error = result.get("error") or ""
    certificates = result.get("certificates") or []
    return ProbeReport(
        sentence=_sentence(result, error),
        is_ok=not error,
        mend=remedy(error) if error else _redirect_hint(result) or _silence_hint(probe),
        detail=result.get("detail") or result.get("reason_of_refusal") or "",
        parts=_parts(result.get("parts_us") or {}),
        total_ms=_total_ms(result),
        certificates=certificates,
        certificate_days_left=days_left(certificates[0], now) if certificates else None,
        websocket=websocket_facts(result.get("websocket") or {}),
        staple=_staple(result, now),
    )


def _staple(result: dict[str, Any], now: datetime) -> StapleWords | None:
    """None without TLS, and if it was not asked for."""
    was_asked = result.get("tls") and "staple" in result
    return staple_words(result["staple"], now) if was_asked else None


def _silence_hint(probe: Probe) -> str:
    seen = (probe.result or {}).get("websocket")
    if not seen or seen["message"] or not probe.request.get("message"):
        return ""
    return "No message came back. This is not an error: not every service answers each message."


def websocket_facts(seen: dict[str, Any]) -> list[tuple[str, str]]:
    """What the upgrade negotiated and how the connection ended: [(name, words)]; [] for HTTP."""
    if not seen.get("accept"):
        return []
    code = seen.get("close_code")
    return [
        ("Sec-WebSocket-Accept", _ACCEPT_WORDS[seen["accept"]]),
        ("Subprotocol", seen.get("subprotocol") or "none"),
        ("Messages received", f"{seen.get('messages') or 0:,}"),
        ("Closed with", f"{code}, {close_words(code)}" if code else "no close frame"),
    ]


def days_left(certificate: dict[str, Any], now: datetime) -> int:
    """Whole days until the certificate expires; negative afterwards."""
    return (datetime.fromisoformat(certificate["not_after"]) - now).days


def _sentence(result: dict[str, Any], error: str) -> str:
    if result.get("not_sent"):
        return "Not sent."
    if error and not result.get("status"):
        return f"No reply: {words_of(error)}."
    status = f"{result.get('status')} {_reason(result)}".strip()
    if error:
        return f"{status}, but {words_of(error)}."
    return f"{status}."


def _reason(result: dict[str, Any]) -> str:
    """The server's reason phrase, or the standard one if it sent none."""
    if result.get("reason"):
        return str(result["reason"])[:100]
    try:
        return HTTPStatus(result["status"]).phrase
    except (ValueError, KeyError):
        return ""


def _redirect_hint(result: dict[str, Any]) -> str:
    if (result.get("status") or 0) // 100 != 3:
        return ""
    return "Redirects are not followed; this reply is what gets measured. Use its Location instead."


def _parts(parts_us: dict[str, int | None]) -> list[ProbePhase]:
    """The phases in order, all with the same decimals so that they align."""
    used = [(name, parts_us[name]) for name in PARTS if parts_us.get(name) is not None]
    total = sum(duration for _, duration in used)
    decimals = _decimals(parts_us)
    parts, start = [], 0
    for name, duration in used:
        share = 100 * duration / total if total else 0
        parts.append(
            ProbePhase(
                name,
                start,
                duration,
                number(start / 1000, decimals),
                number(duration / 1000, decimals),
                number(share, 1),
            )
        )
        start += duration
    return parts


def _total_ms(result: dict[str, Any]) -> str:
    if not result.get("status") or result.get("response_us") is None:
        return ""
    return number(result["response_us"] / 1000, _decimals(result.get("parts_us") or {}))


def _decimals(parts_us: dict[str, int | None]) -> int:
    return decimals_for_parts(value / 1000 for value in parts_us.values() if value)
