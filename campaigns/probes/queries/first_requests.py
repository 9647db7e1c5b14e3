"""What came back of plans' first requests: those before a campaign's first run, and those that were
tried on its form. What came back when a target was tried over HTTP and HTTPS: one probe for each
endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Self

from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS, CLIENT_KINDS, TIMEOUT_KINDS, Kind
from campaigns.domain.plan.plan import status_fits
from campaigns.domain.plan.step import BODIES, default_label
from campaigns.domain.plan.typed_request import TypedRequest, twin_of
from campaigns.domain.presentation.what_to_do import Place, Remedy, words_of
from campaigns.domain.units import counted
from campaigns.models import Campaign, Endpoint, PlanVersion, Probe, Target
from campaigns.probes.queries.probes import ProbeReport, days_left, reason_to_wait, report_of

# What was tried on the form earlier says nothing about now.
TRIED_WITHIN = timedelta(minutes=30)
_LIMIT_OF = {Kind.CONNECT_TIMEOUT: "connect_s", Kind.TLS_TIMEOUT: "tls_s"}
_UNEXPECTED = "Fix the service."
_MOST_REMEDIES = 2
_ASKS_WRONGLY = Remedy(
    "Does the plan ask for something else?",
    "Correct its path, expected status or checks, then run the campaign again.",
    Place.PLAN,
)
_LISTENS_ELSEWHERE = Remedy(
    "Does it listen elsewhere?", "Correct the endpoint, then run the campaign again.", Place.TARGET
)


@dataclass(frozen=True)
class TriedRequest:
    """`report` is None while the answer is awaited."""

    probe: Probe
    report: ProbeReport | None

    @classmethod
    def of(cls, probe: Probe, now: datetime | None = None, **more: Any) -> Self:
        """Worded as of now, or as of when it was made: then a page of what has ended reads the same
        for ever."""
        report = report_of(probe, now or probe.finished_at) if probe.finished_at else None
        return cls(probe, report, **more)

    @property
    def _result(self) -> dict[str, Any]:
        return self.probe.result or {}

    @property
    def status_words(self) -> str:
        """200 OK; the error in words where nothing came back."""
        return self.report.sentence.rstrip(".") if self.report else ""

    @property
    def certificate(self) -> dict[str, Any] | None:
        return self.report.certificates[0] if self.report and self.report.certificates else None

    @property
    def refuses_certificate(self) -> bool:
        return self._result.get("error") in CERTIFICATE_KINDS


class FirstRequest(TriedRequest):
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
        return bool(self.report.websocket) or (self.has_status and not self.report.broken)

    @property
    def has_status(self) -> bool:
        """Whether a reply has a status that the plan expects."""
        rules = tuple(self.probe.request["expected_status"])
        return status_fits(self._result["status"], rules)

    @property
    def status_words(self) -> str:
        """With the limit that was too short."""
        words, limit_s = super().status_words, self._limit_s
        return words.replace("within the limit", f"within {limit_s:g} s") if limit_s else words

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
            return f"{self.status_words}, but {self.expectation}"
        return self.status_words

    @property
    def expectation(self) -> str:
        """Of the plan, that the reply does not meet: the plan expects 2xx."""
        rule = self.report.broken if self.has_status else None
        return f"the plan expects {rule.rule if rule else self.expected}"

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
        if self.report.is_ok and self.has_status:
            return f"Response: {self.report.broken.words}. {_UNEXPECTED}"
        return (self.report.mend if not self.report.is_ok else "") or _UNEXPECTED

    @property
    def tls_version(self) -> str:
        return (self._result.get("tls") or {}).get("version") or ""

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
    def are_injectors(self) -> bool:
        """Whether all that failed did so in the injector, so that a later try may do."""
        return bool(self.wrong) and all(each.is_injectors for each in self.wrong)

    @property
    def answered(self) -> list[Endpoint]:
        """Of which all came back right, where others did not."""
        wrong = {each.probe.endpoint for each in self.wrong}
        right = dict.fromkeys(each.probe.endpoint for each in self.rows if each.is_expected)
        return [endpoint for endpoint in right if endpoint not in wrong] if wrong else []

    @property
    def remedies(self) -> list[Remedy]:
        """What to try before the campaign goes on, the likeliest first."""
        if not self.wrong:
            return []
        first = self.wrong[0]
        texts = dict.fromkeys(each.what_to_do for each in self.wrong)
        if first.is_injectors:
            return [Remedy("", text, "") for text in texts][:_MOST_REMEDIES]
        elsewhere = _ASKS_WRONGLY if first.report.is_ok else _LISTENS_ELSEWHERE
        likelier = list(texts)[: _MOST_REMEDIES - 1]
        return [*(Remedy("", f"{text} Then choose Try again.", "") for text in likelier), elsewhere]

    @property
    def words(self) -> str:
        """What a heading says of them."""
        if self.waiting:
            return f"{len(self.rows) - self.waiting} of {len(self.rows)} so far"
        if len(self.rows) == len(self.wrong) == 1:
            return "preflight request failed"
        if self.wrong:
            return f"{len(self.wrong)} of {counted(len(self.rows), 'preflight requests')} failed"
        return "passed"

    @property
    def failure(self) -> str:
        """The first problem with its place, and how many more there are; "" without. Why a campaign
        stopped says it to visitors of share links as well, so the place has no query."""
        if not self.wrong:
            return ""
        first, more = self.wrong[0], len(self.wrong) - 1
        others = f", and {counted(more, 'others')}" if more else ""
        label = default_label(first.probe.request["method"], first.probe.request["path"])
        place = f"{label} on {first.probe.endpoint}"
        if first.is_injectors:
            return f"The injector failed before {place}{others.replace(',', '')} answered"
        return f"{first.problem[:1].upper()}{first.problem[1:]} ({place}{others})"


def first_requests_of(campaign: Campaign, actor: Actor | None = None) -> FirstResponses:
    """Those that the campaign's first run waited for; with an actor, as far as it may see them."""
    probes = Probe.objects.visible_to(actor) if actor else Probe.objects
    places = list(campaign.tests.values_list("plan_version", "endpoint").order_by("position"))
    own = probes.filter(campaign=campaign).select_related("endpoint__target", "plan_version__plan")
    rows = sorted(own, key=lambda each: places.index((each.plan_version_id, each.endpoint_id)))
    return FirstResponses(tuple(map(FirstRequest.of, rows)))


def tried_lately(cells: Sequence[tuple[PlanVersion, Endpoint]]) -> FirstResponses:
    """The latest tries of these cells by hand, a short while ago; cells never tried have none."""
    pairs = list(dict.fromkeys((version.pk, endpoint.pk) for version, endpoint in cells))
    tries = Probe.objects.filter(
        plan_version__in={version for version, _ in pairs},
        endpoint__in={endpoint for _, endpoint in pairs},
        campaign=None,
        requested_at__gt=timezone.now() - TRIED_WITHIN,
    ).select_related("endpoint__target", "plan_version__plan")
    latest = {(each.plan_version_id, each.endpoint_id): each for each in tries.order_by("pk")}
    rows = (latest[key] for key in pairs if key in latest)
    return FirstResponses(tuple(map(FirstRequest.of, rows)))


_STEP = ("method", "path", "headers", *BODIES)
_SCHEMES = ("http", "https")


@dataclass(frozen=True)
class TriedEndpoint(TriedRequest):
    reason_to_wait: str = ""

    @property
    def endpoint(self) -> Endpoint:
        return self.probe.endpoint

    @property
    def status(self) -> int:
        return self._result.get("status") or 0

    @property
    def is_right(self) -> bool:
        return bool(self.report and self.report.is_ok and self.status // 100 == 2)

    @property
    def body_bytes(self) -> int:
        return self._result.get("body_bytes") or 0

    @property
    def refusal(self) -> str:
        """Certificate name mismatch: issued for a.test, not for b.test; "" where the certificate
        was not refused."""
        if not self.refuses_certificate:
            return ""
        text = words_of(self._result["error"]), self._result.get("detail")
        words = ": ".join(filter(None, text))
        return f"{words[:1].upper()}{words[1:]}"

    @property
    def accepts_certificate(self) -> bool:
        """Whether the shown certificate is the one that is accepted by its fingerprint."""
        fingerprint = self.endpoint.tls.get("fingerprint")
        return bool(
            fingerprint and self.certificate and fingerprint == self.certificate.get("sha256")
        )


@dataclass(frozen=True)
class Tried:
    """`typed` is the probe that somebody asked for; `endpoints` has it and its siblings, HTTP
    first. `untried`: further ones that were added since; another try has them too."""

    typed: Probe
    endpoints: tuple[TriedEndpoint, ...]
    untried: tuple[Endpoint, ...] = ()

    @property
    def step(self) -> dict[str, Any]:
        return step_of(self.typed)

    @cached_property
    def text(self) -> str:
        """What to type to try the same again."""
        endpoint = self.typed.endpoint
        origin = (endpoint.scheme, endpoint.host, endpoint.port)
        insecure = endpoint.scheme == "https" and not endpoint.verify_tls
        auth = self.typed.request.get("auth", {})
        return TypedRequest.of(
            origin,
            self.step,
            auth,
            is_insecure=insecure,
            http_version=self.typed.request.get("http_version", ""),
            pinned=endpoint.address,
            redirects=self.typed.request.get("redirects", ""),
        ).text

    @property
    def is_finished(self) -> bool:
        return all(each.report for each in self.endpoints)

    @property
    def reason_to_wait(self) -> str:
        return next((each.reason_to_wait for each in self.endpoints if each.reason_to_wait), "")

    @property
    def right(self) -> list[TriedEndpoint]:
        return [each for each in self.endpoints if each.is_right]

    @property
    def schemes(self) -> list[str]:
        return [each.endpoint.scheme for each in self.right]

    @property
    def wrong(self) -> list[TriedEndpoint]:
        return [each for each in self.endpoints if each.report and not each.is_right]

    @property
    def certified(self) -> list[TriedEndpoint]:
        """The endpoints whose certificate somebody has to accept, or has accepted."""
        return [
            each
            for each in self.endpoints
            if each.certificate and (each.refuses_certificate or each.accepts_certificate)
        ]

    @property
    def missing(self) -> str:
        """The scheme that nothing came back of; "" if both are there, or one is to be tried."""
        if self.untried or len({each.endpoint.scheme for each in self.endpoints}) > 1:
            return ""
        twin = twin_of(self.typed.endpoint.scheme, self.typed.endpoint.port)
        if twin is None:
            return f"Only {self.typed.endpoint.scheme.upper()} was tried."
        return f"No {twin[0].upper()} endpoint found on port {twin[1]}."

    @property
    def other_scheme(self) -> str:
        return "http" if self.typed.endpoint.scheme == "https" else "https"

    @property
    def sentence(self) -> list[tuple[str, bool]]:
        """[(words, whether they are bold)]."""
        right = sorted(self.right, key=lambda each: each.endpoint.scheme, reverse=True)
        if not right:
            without_trust = [each for each in self.endpoints if each.refuses_certificate]
            if without_trust:
                return [("It speaks HTTPS.", False), *_beside(without_trust[0])]
            worst = self.wrong[-1] if self.wrong else None
            return [(f"{_over(worst)}.", True)] if worst else []
        first = right[0]
        parts = [("It answers: ", False), (_over(first), True)]
        if len(right) > 1:
            size, other_bytes = counted(first.body_bytes, "bytes"), right[1].body_bytes
            words = f", but with {other_bytes:,} instead of {size}."
            if first.body_bytes == other_bytes:
                words = f", with the same {size}."
            parts += [(" and over HTTP", False), (words, False)]
        else:
            parts.append((", ", False))
            parts.append((f"{counted(first.body_bytes, 'bytes')}.", False))
            parts += [words for each in self.wrong for words in _beside(each)]
        if any(each.accepts_certificate for each in self.right):
            parts.append((" Its certificate is accepted, for this endpoint only.", False))
        return parts


def _beside(endpoint: TriedEndpoint) -> list[tuple[str, bool]]:
    """What an endpoint that did not answer rightly is said to have done."""
    if not endpoint.refuses_certificate:
        return [(f" {_over(endpoint)}.", False)]
    return [(f" {endpoint.refusal}", True), (": accept it below, or replace it.", False)]


def _over(endpoint: TriedEndpoint) -> str:
    scheme = endpoint.endpoint.scheme.upper()
    if endpoint.status:
        return f"{endpoint.status_words} over {scheme}"
    return f"{endpoint.status_words} over {scheme} on port {endpoint.endpoint.port}"


def step_of(probe: Probe) -> dict[str, Any]:
    """What was sent, as a plan's step."""
    return {name: probe.request[name] for name in _STEP if name in probe.request}


def tried_of(target: Target, probe: int, now: datetime) -> Tried | None:
    """The try that this probe was part of, or the target's latest one with 0; None without one."""
    typed_by_hand = Probe.objects.filter(plan_version=None)
    probes = typed_by_hand.filter(endpoint__target=target, endpoint__scheme__in=_SCHEMES)
    rows = probes.select_related("endpoint__target__project")
    first_probe = rows.filter(pk=probe).first() if probe else rows.order_by("-pk").first()
    if first_probe is None:
        return None
    latest: dict[int, Probe] = {}
    same = rows.filter(endpoint__host=first_probe.endpoint.host, endpoint__archived_at=None)
    for each in same.order_by("-pk")[:100]:
        if step_of(each) == step_of(first_probe):
            latest.setdefault(each.endpoint_id, each)
    latest[first_probe.endpoint_id] = first_probe
    in_order = sorted(latest.values(), key=lambda each: (each.endpoint.scheme, each.endpoint.port))
    others = first_probe.endpoint.siblings.exclude(pk__in=latest)
    endpoints = (
        TriedEndpoint.of(each, now, reason_to_wait=reason_to_wait(each, now)) for each in in_order
    )
    return Tried(first_probe, tuple(endpoints), tuple(others))
