"""What came back when a target was tried over HTTP and HTTPS: one probe for each endpoint."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from campaigns.domain.measured.outcomes import CERTIFICATE_KINDS
from campaigns.domain.plan.typed_request import TypedRequest, twin_of
from campaigns.domain.shown.remedies import words_of
from campaigns.domain.units import counted
from campaigns.models import Endpoint, Probe, Target
from campaigns.queries.probes import ProbeReport, reason_to_wait, report_of

_STEP = ("method", "path", "headers", "body")
_SCHEMES = ("http", "https")


@dataclass(frozen=True)
class TriedEndpoint:
    """`report` is None while the answer is awaited."""

    probe: Probe
    report: ProbeReport | None
    reason_to_wait: str = ""

    @property
    def endpoint(self) -> Endpoint:
        return self.probe.endpoint

    @property
    def status(self) -> int:
        return (self.probe.result or {}).get("status") or 0

    @property
    def status_words(self) -> str:
        """200 OK; the error in words where nothing came back."""
        return self.report.sentence.rstrip(".") if self.report else ""

    @property
    def is_right(self) -> bool:
        return bool(self.report and self.report.is_ok and self.status // 100 == 2)

    @property
    def body_bytes(self) -> int:
        return (self.probe.result or {}).get("body_bytes") or 0

    @property
    def certificate(self) -> dict[str, Any] | None:
        return self.report.certificates[0] if self.report and self.report.certificates else None

    @property
    def is_refused_certificate(self) -> bool:
        return (self.probe.result or {}).get("error") in CERTIFICATE_KINDS

    @property
    def refusal(self) -> str:
        """Certificate name mismatch; "" where the certificate was not refused."""
        words = words_of(self.probe.result["error"]) if self.is_refused_certificate else ""
        return f"{words[:1].upper()}{words[1:]}"

    @property
    def accepts_certificate(self) -> bool:
        """Whether the shown certificate is the one that is accepted by its fingerprint."""
        accepted = self.endpoint.tls.get("fingerprint")
        return bool(accepted and self.certificate and accepted == self.certificate.get("sha256"))


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
        return TypedRequest.of(origin, self.step, auth, is_insecure=insecure).text

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
            if each.certificate and (each.is_refused_certificate or each.accepts_certificate)
        ]

    @property
    def missing(self) -> str:
        """The scheme that nothing came back of; "" if both are there, or one is to be tried."""
        if self.untried or len({each.endpoint.scheme for each in self.endpoints}) > 1:
            return ""
        twin = twin_of(self.typed.endpoint.scheme, self.typed.endpoint.port)
        if twin is None:
            return f"Only {self.typed.endpoint.scheme.upper()} was tried."
        return f"Nothing answers over {twin[0].upper()} on port {twin[1]}."

    @property
    def sentence(self) -> list[tuple[str, bool]]:
        """[(words, whether they are bold)]."""
        right = sorted(self.right, key=lambda each: each.endpoint.scheme, reverse=True)
        if not right:
            refused = [each for each in self.endpoints if each.is_refused_certificate]
            if refused:
                return [("It speaks HTTPS.", False), *_beside(refused[0])]
            worst = self.wrong[-1] if self.wrong else None
            return [(f"{_over(worst)}.", True)] if worst else []
        first = right[0]
        said = [("It answers: ", False), (_over(first), True)]
        if len(right) > 1:
            said += [(" and over HTTP", False), self._sizes(first, right[1])]
        else:
            said.append((", ", False))
            said.append((f"{counted(first.body_bytes, 'bytes')}.", False))
            said += [words for each in self.wrong for words in _beside(each)]
        return [*said, *self._certificate_words()]

    def _sizes(self, first: TriedEndpoint, second: TriedEndpoint) -> tuple[str, bool]:
        if first.body_bytes == second.body_bytes:
            return f", with the same {counted(first.body_bytes, 'bytes')}.", False
        other = counted(first.body_bytes, "bytes")
        return f", but with {second.body_bytes:,} instead of {other}.", False

    def _certificate_words(self) -> list[tuple[str, bool]]:
        if any(each.accepts_certificate for each in self.right):
            return [(" Its certificate is accepted, for this endpoint only.", False)]
        return []


def _beside(tried: TriedEndpoint) -> list[tuple[str, bool]]:
    """What an endpoint that did not answer rightly is said to have done."""
    if not tried.is_refused_certificate:
        return [(f" {_over(tried)}.", False)]
    return [(f" {tried.refusal}", True), (": accept it below, or replace it.", False)]


def _over(tried: TriedEndpoint) -> str:
    scheme = tried.endpoint.scheme.upper()
    if tried.status:
        return f"{tried.status_words} over {scheme}"
    return f"{tried.status_words} over {scheme} on port {tried.endpoint.port}"


def step_of(probe: Probe) -> dict[str, Any]:
    """What was sent, as a plan's step."""
    return {name: probe.request[name] for name in _STEP}


def tried_of(target: Target, probe: int, now: datetime) -> Tried | None:
    """The try that this probe was part of, or the target's latest one with 0; None without one."""
    typed_by_hand = Probe.objects.filter(plan_version=None)
    probes = typed_by_hand.filter(endpoint__target=target, endpoint__scheme__in=_SCHEMES)
    found = probes.select_related("endpoint__target__project")
    typed = found.filter(pk=probe).first() if probe else found.order_by("-pk").first()
    if typed is None:
        return None
    latest: dict[int, Probe] = {}
    same = found.filter(endpoint__host=typed.endpoint.host, endpoint__archived_at=None)
    for each in same.order_by("-pk")[:100]:
        if step_of(each) == step_of(typed):
            latest.setdefault(each.endpoint_id, each)
    latest[typed.endpoint_id] = typed
    ordered = sorted(latest.values(), key=lambda each: (each.endpoint.scheme, each.endpoint.port))
    added = typed.endpoint.siblings.exclude(pk__in=latest)
    return Tried(typed, tuple(_tried(each, now) for each in ordered), tuple(added))


def _tried(probe: Probe, now: datetime) -> TriedEndpoint:
    report = report_of(probe, now) if probe.finished_at else None
    return TriedEndpoint(probe, report, reason_to_wait(probe, now))
