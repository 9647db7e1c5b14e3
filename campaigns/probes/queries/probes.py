"""Reads a probe's stored result for its page. Reads of targets, endpoints and TLS profiles."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.db.models import OuterRef, Prefetch, QuerySet

from campaigns.core.database import count_of
from campaigns.core.permissions import Actor
from campaigns.domain.metrics.outcomes import CLIENT_KINDS
from campaigns.domain.metrics.snapshot import PARTS
from campaigns.domain.plan.step import Redirects
from campaigns.domain.presentation.exchange_tables import close_words
from campaigns.domain.presentation.what_to_do import remedy, words_of
from campaigns.domain.units import counted, decimals_for_parts, number
from campaigns.models import Endpoint, Probe, Project, Run, Target
from campaigns.operations.queries import why_nothing_begins

USUAL_WAIT = timedelta(seconds=2)
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
class RuleReport:
    """A check or an extraction of the request: `words` are the value that was taken, or what came
    in place of what it asks for."""

    rule: str
    holds: bool
    words: str


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """`redirects`: (address, status, ms) of each reply that was followed. `tls_words`: version,
    cipher and key exchange that were negotiated."""

    sentence: str
    is_ok: bool
    mend: str
    detail: str
    parts: list[ProbePhase]
    total_ms: str
    certificates: list[dict[str, Any]]
    certificate_days_left: int | None
    websocket: list[tuple[str, str]]
    rules: list["RuleReport"]
    redirects: list[tuple[str, str, str]]
    tls_words: str
    alpn: str

    @property
    def broken(self) -> "RuleReport | None":
        """The first check that does not hold, or needed value that is missing."""
        return next((each for each in self.rules if not each.holds), None)

    @property
    def certificate_days_ago(self) -> int:
        """Days since the certificate expired, rounded up."""
        return -(self.certificate_days_left or 0)


def reason_to_wait(probe: Probe, now: datetime) -> str:
    """Why a request is not sent yet; "" once it is, and while that takes no longer than usual."""
    if probe.claimed_at or probe.finished_at or now - probe.requested_at < USUAL_WAIT:
        return ""
    return why_nothing_begins() or words_of_queue(probe)


def words_of_queue(probe: Probe) -> str:
    """What a request waits for that has not been sent: 12 test requests of this project and 4 of
    other projects are ahead."""
    project = probe.endpoint.target.project_id
    open_probes = Probe.objects.filter(finished_at=None)
    own = open_probes.filter(endpoint__target__project=project, pk__lt=probe.pk).count()
    busy = open_probes.filter(claimed_at__isnull=False)
    others = busy.exclude(endpoint__target__project=project).count()
    groups = [(own, "of this project"), (others, "of other projects")]
    ahead = [(n, whose) for n, whose in groups if n]
    if not ahead:
        return "The dispatcher was away."
    (n, whose), *more = ahead
    words = f"{counted(n, 'test requests')} {whose}"
    words += "".join(f" and {n:,} {whose}" for n, whose in more)
    return f"{words} {'is' if sum(n for n, _ in ahead) == 1 else 'are'} ahead."


def report_of(probe: Probe, now: datetime) -> ProbeReport:
    result = probe.result or {}
    error = result.get("error") or ""
    certificates = result.get("certificates") or []
    tls = result.get("tls") or {}
    detail = result.get("detail") or result.get("reason_of_refusal") or ""
    mend = remedy(error, 0, [detail]) if error else _hint(probe)
    if result.get("not_sent") or result.get("ended"):  # nothing failed: it says all there is
        mend, detail = detail, ""
    if result.get("not_sent"):
        sentence = "Not sent."
    elif result.get("ended"):
        sentence = "Ended before the reply."
    elif error and not result.get("status"):
        sentence = f"No reply: {words_of(error)}."
    else:
        status = f"{result.get('status')} {_reason(result)}".strip()
        if redirects := result.get("redirects"):
            status += f", after {counted(len(redirects), 'redirects')}"
        sentence = f"{status}, but {words_of(error)}." if error else f"{status}."
    if detail and error not in CLIENT_KINDS:
        sentence, detail = f"{sentence.rstrip('.')}: {detail.rstrip('.')}.", ""
    # What an upgrade negotiated and how the connection ended.
    websocket, websocket_facts = result.get("websocket") or {}, []
    if websocket.get("accept"):
        code = websocket.get("close_code")
        websocket_facts = [
            ("Sec-WebSocket-Accept", _ACCEPT_WORDS[websocket["accept"]]),
            ("Subprotocol", websocket.get("subprotocol") or "none"),
            ("Messages received", f"{websocket.get('messages') or 0:,}"),
            ("Closed with", f"{code}, {close_words(code)}" if code else "no close frame"),
        ]
    return ProbeReport(
        sentence=sentence,
        is_ok=not error,
        mend=mend,
        detail=detail,
        parts=_parts(result.get("parts_us") or {}),
        total_ms=number(result["response_us"] / 1000, _decimals(result.get("parts_us") or {}))
        if result.get("status") and result.get("response_us") is not None
        else "",
        certificates=certificates,
        certificate_days_left=days_left(certificates[0], now) if certificates else None,
        websocket=websocket_facts,
        rules=[
            RuleReport(each["rule"], each["holds"], each["came"] or each["value"] or "")
            for each in result.get("rules") or ()
        ],
        redirects=[
            (each["url"], str(each["status"]), number(each["response_us"] / 1000, 2))
            for each in result.get("redirects") or ()
        ],
        tls_words=", ".join(filter(None, map(tls.get, ("version", "cipher", "group")))),
        alpn=tls.get("alpn") or "",
    )


def days_left(certificate: dict[str, Any], now: datetime) -> int:
    """Whole days until the certificate expires; negative afterwards."""
    return (datetime.fromisoformat(certificate["not_after"]) - now).days


def _reason(result: dict[str, Any]) -> str:
    """The server's reason phrase, or the standard one if it sent none."""
    if result.get("reason"):
        return str(result["reason"])[:100]
    try:
        return HTTPStatus(result["status"]).phrase
    except (ValueError, KeyError):
        return ""


def _hint(probe: Probe) -> str:
    """What a response without an error means that people may not expect."""
    result = probe.result or {}
    if (result.get("status") or 0) // 100 == 3:
        if probe.request.get("redirects") == Redirects.SAME_ORIGIN:
            return "This leads to another origin, and the plan follows redirects only at its own."
        return (
            "This redirect is not followed, and is what gets measured. A plan can follow redirects."
        )
    websocket = result.get("websocket")
    if websocket and not websocket["message"] and probe.request.get("message"):
        return "No message came back. This is not an error: not every service answers each message."
    return ""


def _parts(parts_us: dict[str, int | None]) -> list[ProbePhase]:
    """The phases in order, all with the same decimals so that they align."""
    timed_parts = [(name, parts_us[name]) for name in PARTS if parts_us.get(name) is not None]
    total = sum(duration for _, duration in timed_parts)
    decimals = _decimals(parts_us)
    parts, start = [], 0
    for name, duration in timed_parts:
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


def _decimals(parts_us: dict[str, int | None]) -> int:
    return decimals_for_parts(value / 1000 for value in parts_us.values() if value)


def endpoints_by_profile(project: Project) -> Mapping[str, tuple[Endpoint, ...]]:
    """Those in use, by the name of their profile; without those of the standard one."""
    endpoints = Endpoint.objects.filter(
        target__project=project, target__archived_at=None, archived_at=None, tls__has_key="profile"
    )
    by_profile: dict[str, tuple[Endpoint, ...]] = {}
    for each in endpoints.select_related("target").order_by("target__name", "pk"):
        name = each.tls["profile"]
        by_profile[name] = (*by_profile.get(name, ()), each)
    return by_profile


def list_targets(actor: Actor) -> QuerySet[Target]:
    """Each with its endpoints in use."""
    targets = with_counts(Target.objects.visible_to(actor).filter(is_kept=True))
    endpoints_in_use = Prefetch(
        "endpoints", Endpoint.objects.filter(archived_at=None), to_attr="used_endpoints"
    )
    return targets.prefetch_related(endpoints_in_use)


def with_counts(targets: QuerySet[Target]) -> QuerySet[Target]:
    """Each with the number of its finished runs."""
    return targets.annotate(
        n_runs=count_of(Run.objects.outside_trash().filter(target=OuterRef("pk"), state="done"))
    )


def is_watched(target: Target) -> bool:
    """Whether its next run is told what its machine does: it has an agent or another exporter that
    is not known to tell nothing."""
    return target.exporters.filter(problem="").exists()
