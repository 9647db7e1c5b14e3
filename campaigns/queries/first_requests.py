"""What came back of plans' first requests: those before a campaign's first run, and those that were
tried on its form."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from campaigns.domain.measured.outcomes import CERTIFICATE_KINDS, CLIENT_KINDS, TIMEOUT_KINDS, Kind
from campaigns.domain.plan.plan import status_fits
from campaigns.domain.plan.step import default_label
from campaigns.domain.units import counted
from campaigns.models import Campaign, Endpoint, PlanVersion, Probe
from campaigns.permissions import Actor
from campaigns.queries.probes import ProbeReport, days_left, report_of

# What was tried on the form earlier says nothing about now.
TRIED_WITHIN = timedelta(minutes=30)
_LIMIT_OF = {Kind.CONNECT_TIMEOUT: "connect_s", Kind.TLS_TIMEOUT: "tls_s"}
_UNEXPECTED = (
    "Correct the plan's path or its expected status, or fix the service. A changed plan is a new "
    "version: run the campaign again with it."
)


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """`report` is None while the answer is awaited."""

    probe: Probe
    report: ProbeReport | None

    @property
    def _result(self) -> dict[str, Any]:
        return self.probe.result or {}

    @property
    def words(self) -> str:
        """GET /prices"""
        return f"{self.probe.request['method']} {self.probe.request['path']}"

    @property
    def expected(self) -> str:
        """2xx or 3xx"""
        return " or ".join(self.probe.request["expected_status"])

    @property
    def is_expected(self) -> bool:
        """Whether the plan counts such a reply as ok; an opened WebSocket always is."""
        if not self.report or not self.report.is_ok:
            return False
        rules = self.probe.request["expected_status"]
        return bool(self.report.websocket) or status_fits(self._result["status"], rules)

    @property
    def status_words(self) -> str:
        """200 OK; the error in words where nothing came back, with the limit that was too short."""
        words = self.report.sentence.rstrip(".") if self.report else ""
        limit_s = self._limit_s
        return f"{words} of {limit_s:g} s" if limit_s else words

    @property
    def _limit_s(self) -> float:
        """How long it waited in vain; 0 if something came back."""
        error, limits = self._result.get("error"), self.probe.request["timeouts"]
        if error not in TIMEOUT_KINDS:
            return 0
        return min(limits[_LIMIT_OF.get(error, "total_s")], limits["total_s"])

    @property
    def problem(self) -> str:
        """404 Not Found, but the plan expects 2xx; "" for what is right or still awaited."""
        if not self.report or self.is_expected:
            return ""
        if self.report.is_ok:
            return f"{self.status_words}, but the plan expects {self.expected}"
        return self.status_words

    @property
    def is_injectors(self) -> bool:
        """Whether it went wrong in the injector: neither plan nor target has anything to mend."""
        return self._result.get("error") in CLIENT_KINDS

    @property
    def what_to_do(self) -> str:
        if not self.problem:
            return ""
        if self._result.get("error") == Kind.CLIENT_OTHER and self.report.detail:
            return self.report.detail
        if self._result.get("error") == Kind.TLS_NAME:
            return f"{self.report.detail} {self.report.mend}".lstrip()
        return (self.report.mend if not self.report.is_ok else "") or _UNEXPECTED

    @property
    def tls_version(self) -> str:
        return (self._result.get("tls") or {}).get("version") or ""

    @property
    def certificate(self) -> dict[str, Any] | None:
        return self.report.certificates[0] if self.report and self.report.certificates else None

    @property
    def refuses_certificate(self) -> bool:
        return self._result.get("error") in CERTIFICATE_KINDS

    @property
    def certificate_trust(self) -> str:
        """Whether somebody vouched for the certificate."""
        endpoint = self.probe.endpoint
        if self.refuses_certificate:
            return "rejected"
        if not endpoint.verify_tls:
            return "not verified, as the endpoint says"
        return "accepted by its fingerprint" if endpoint.tls.get("fingerprint") else "verified"

    @property
    def certificate_dates(self) -> str:
        """valid until 2027-01-31"""
        has_expired = days_left(self.certificate, self.probe.finished_at) < 0
        return f"{'expired' if has_expired else 'valid until'} {self.certificate['not_after'][:10]}"


@dataclass(frozen=True, slots=True)
class FirstResponses:
    """The first requests of a campaign or of the ticked cells, in the order of the tests."""

    rows: tuple[FirstRequest, ...]

    @property
    def waiting(self) -> int:
        return sum(each.report is None for each in self.rows)

    @property
    def wrong(self) -> list[FirstRequest]:
        return [each for each in self.rows if each.problem]

    @property
    def words(self) -> str:
        """What a heading says of them."""
        if self.waiting:
            return f"{len(self.rows) - self.waiting} of {len(self.rows)} so far"
        if len(self.rows) == len(self.wrong) == 1:
            return "the first request failed"
        if self.wrong:
            return f"{len(self.wrong)} of {counted(len(self.rows), 'first requests')} failed"
        one = "The first request was" if len(self.rows) == 1 else "All first requests were"
        return f"{one} answered as expected"

    @property
    def failure(self) -> str:
        """The first problem with its place, and how many more there are; "" without. Why a campaign
        stopped says it to visitors of share links as well, so the place has no query."""
        if not self.wrong:
            return ""
        first, more = self.wrong[0], len(self.wrong) - 1
        others = f", and {counted(more, 'others')}" if more else ""
        asked = default_label(first.probe.request["method"], first.probe.request["path"])
        place = f"{asked} on {first.probe.endpoint}"
        return f"{first.problem[:1].upper()}{first.problem[1:]} ({place}{others})"


def first_requests_of(campaign: Campaign, actor: Actor | None = None) -> FirstResponses:
    """Those that the campaign's first run waited for; with an actor, as far as it may see them."""
    seen = Probe.objects.visible_to(actor) if actor else Probe.objects
    places = list(campaign.tests.values_list("plan_version", "endpoint").order_by("position"))
    found = seen.filter(campaign=campaign).select_related("endpoint__target", "plan_version__plan")
    rows = sorted(found, key=lambda each: places.index((each.plan_version_id, each.endpoint_id)))
    return _responses_of(rows)


def tried_lately(cells: Sequence[tuple[PlanVersion, Endpoint]]) -> FirstResponses:
    """The latest tries of these cells, made a short while ago; cells never tried have none."""
    wanted = list(dict.fromkeys((version.pk, endpoint.pk) for version, endpoint in cells))
    found = Probe.objects.filter(
        plan_version__in={version for version, _ in wanted},
        endpoint__in={endpoint for _, endpoint in wanted},
        requested_at__gt=timezone.now() - TRIED_WITHIN,
    ).select_related("endpoint__target", "plan_version__plan")
    latest = {(each.plan_version_id, each.endpoint_id): each for each in found.order_by("pk")}
    return _responses_of([latest[key] for key in wanted if key in latest])


def _responses_of(probes: Sequence[Probe]) -> FirstResponses:
    """Worded as of when each was made, so that a page of what has ended reads the same for ever."""
    return FirstResponses(
        tuple(
            FirstRequest(each, report_of(each, each.finished_at) if each.finished_at else None)
            for each in probes
        )
    )
