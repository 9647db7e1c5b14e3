"""From what somebody types to a target that was tried: endpoints of both schemes, one request each.
The request goes out as a probe does: a worker's injector vets the address before it connects. One
click on a question: its plan, its campaign, started.

Test requests of a plan that is being written: each step once, in order, with the values that
earlier responses gave. A try is the probes with its key; whoever looks on sends the next one."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Any

from django.db import transaction
from django.utils import timezone

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.domain.plan.plan import Plan, status_fits
from campaigns.domain.plan.questions import QUESTIONS, Question
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.typed_request import (
    NotUnderstood,
    TypedRequest,
    read_address,
    require_files,
    shared_credentials,
    twin_of,
    with_values,
)
from campaigns.domain.units import counted
from campaigns.items.services import free_name, hold
from campaigns.models import Campaign, Endpoint, PlanSecret, PlanVersion, Probe, Project, Target
from campaigns.plans.services import create_plan, plan_of_spec
from campaigns.probes.queries.first_requests import step_of, tried_of
from campaigns.probes.services.probes import is_only_guessed, request_probe
from campaigns.projects.services import create_project, keep_secret, share_secret
from campaigns.targets.services import create_target, keep_target

FIRST_PROJECT = "Measurements"


@transaction.atomic
def try_typed(*, by: Actor, project: Project | None, request: TypedRequest) -> Probe:
    """The probe of the endpoint that was typed; its twin is tried beside it. Without a project a
    first one is created. A target that has the endpoint is used again. Raises Forbidden, and
    NotUnderstood with what to change."""
    project = project or first_project(by=by)
    require(by, Action.EDIT, project)
    require_files([request])
    try:
        # The plan that keeps the secret, which is stored nowhere else; None without credentials.
        version = None
        if request.auth_kind != AuthKind.NONE:
            question = QUESTIONS["works"]
            version = plan_for(by, project, question, request.step, request.auth, host=request.host)
            if request.secret:
                keep_secret(by=by, plan=version.plan, secret=request.secret)
            elif not PlanSecret.objects.filter(plan=version.plan).exists():
                raise NotUnderstood("The password or token is missing, as in -u ann:secret.")
        typed = _endpoint_of(project, request) or _new_endpoint(by, project, request)
        hold(typed.target)  # so that what is read of it now does not go by itself
        values = {"by": by, "request": request.step, "credentials_of": version}
        protocol = {"http_version": request.http_version, "redirects": request.redirects}
        probe = request_probe(endpoint=typed, **protocol, **values)
        for endpoint, is_guess in _others(typed):
            # Without TLS few servers speak HTTP/2, and none was named. One that redirects to the
            # typed address is no twin of it.
            own = "same_origin" if request.redirects else ""
            request_probe(endpoint=endpoint, is_guess=is_guess, redirects=own, **values)
    except InvalidPlan as invalid:
        raise NotUnderstood(" ".join(dict.fromkeys(invalid.errors.values()))) from None
    return probe


def first_project(*, by: Actor) -> Project:
    """For who has none yet."""
    return create_project(by=by, name=FIRST_PROJECT)


def try_again(*, by: Actor, probe: Probe) -> Probe:
    """The same request to the same endpoint, such as after its certificate was accepted."""
    version = PlanVersion.objects.filter(plan=probe.request.get("plan")).last()
    return request_probe(
        by=by,
        endpoint=probe.endpoint,
        request=step_of(probe),
        credentials_of=version,
        http_version=probe.request.get("http_version", ""),
        redirects=probe.request.get("redirects", ""),
    )


@transaction.atomic
def try_other(*, by: Actor, probe: Probe, text: str) -> None:
    """Add the endpoint of the other scheme, and send it the same request. Raises Refused."""
    endpoint = probe.endpoint
    require(by, Action.EDIT, endpoint.target.project)
    try:
        address = read_address(text)
    except NotUnderstood as fault:
        raise Refused(str(fault)) from None
    if address.scheme == endpoint.scheme or address.host != endpoint.host:
        other = "HTTP" if endpoint.scheme == "https" else "HTTPS"
        raise Refused(f"Enter the {other} URL of {endpoint.host}.")
    hold(endpoint.target)
    origin = {name: getattr(address, name) for name in ("scheme", "host", "port")}
    origin["address"] = endpoint.address
    endpoints = endpoint.target.endpoints
    if not endpoints.filter(**origin, archived_at=None).exists():  # else it was clicked twice
        endpoints.create(**origin, verify_tls=endpoint.verify_tls)
    try_untried(by=by, target=endpoint.target, probe=probe.pk)


def try_untried(*, by: Actor, target: Target, probe: int = 0) -> None:
    """Send what was tried last to the endpoints that were added since."""
    answers = tried_of(target, probe, timezone.now())
    for endpoint in answers.untried if answers else ():
        request_probe(
            by=by,
            endpoint=endpoint,
            request=answers.step,
            credentials_of=PlanVersion.objects.filter(
                plan=answers.typed.request.get("plan")
            ).last(),
            redirects="same_origin" if answers.typed.request.get("redirects") else "",
        )


def _endpoint_of(project: Project, request: TypedRequest) -> Endpoint | None:
    """With the standard TLS profile, if there are several."""
    endpoints = Endpoint.objects.filter(
        target__project=project,
        target__archived_at=None,
        archived_at=None,
        scheme=request.scheme,
        host=request.host,
        port=request.port,
        address=request.pinned,
    )
    return min(endpoints, key=lambda each: (each.tls_profile, each.pk), default=None)


def _new_endpoint(
    by: Actor, project: Project, request: TypedRequest, *, is_kept: bool = False
) -> Endpoint:
    names = set(Target.objects.filter(project=project).values_list("name", flat=True))
    description = {
        "scheme": request.scheme,
        "host": request.host,
        "port": request.port,
        "address": request.pinned,
        "verify_tls": not request.is_insecure,
    }
    host = request.host[:80]
    free = chain([host, f"{host}:{request.port}"], (f"{host} ({number})" for number in count(2)))
    target = create_target(
        by=by,
        project=project,
        name=next(name for name in free if name not in names),
        environment=[],
        endpoints=[description],
        is_kept=is_kept,
    )
    return target.endpoints.get()


def _others(typed: Endpoint) -> list[tuple[Endpoint, bool]]:
    """The target's endpoints of the other scheme on the same host; without one, a guess."""
    twin = twin_of(typed.scheme, typed.port)
    siblings = typed.siblings
    if siblings.exists() or twin is None:
        return [(endpoint, is_only_guessed(endpoint)) for endpoint in siblings]
    scheme, port = twin
    same = {name: getattr(typed, name) for name in ("host", "address", "verify_tls")}
    return [(typed.target.endpoints.create(scheme=scheme, port=port, **same), True)]


@transaction.atomic
def accept_certificate(*, by: Actor, probe: Probe, fingerprint: str) -> None:
    """Accept the certificate that this probe was shown, for its endpoint and no other."""
    require(by, Action.EDIT, probe.endpoint.target.project)
    digest = ((probe.result or {}).get("certificates") or [{}])[0].get("sha256")
    if not digest or fingerprint != digest:
        raise Refused("The server now shows another certificate. Look at it again.")
    endpoint = Endpoint.objects.select_for_update().get(pk=probe.endpoint_id)
    endpoint.tls = {**endpoint.tls, "fingerprint": digest}
    endpoint.verify_tls = True
    endpoint.save(update_fields=["tls", "verify_tls"])


@transaction.atomic
def start_question(
    *, by: Actor, question: Question, step: dict[str, Any], probes: list[Probe]
) -> Campaign:
    """Measure what the question asks on the endpoints that these probes found answering. Raises
    Refused if too few answer."""
    cells = cells_of_question(by=by, question=question, step=step, probes=probes)
    target = cells[0].endpoint.target
    campaign = create_campaign(
        by=by,
        project=target.project,
        name=f"{question.title} {target.name}"[:150],
        cells=cells,
        repeats=question.repeats,
        order=Campaign.Order.BLOCKS if question.repeats else "",
        pause_s=question.pause_s,
    )
    start_campaign(by=by, campaign=campaign)
    return campaign


@transaction.atomic
def cells_of_question(
    *, by: Actor, question: Question, step: dict[str, Any], probes: list[Probe]
) -> list[CampaignCell]:
    """The question's plan, kept in the project, on the endpoints that answer. Raises Refused if too
    few do."""
    target = probes[0].endpoint.target if probes else None
    if target is None:
        raise Refused("No endpoint answers yet. Send a test request first.")
    require(by, Action.EDIT, target.project)
    keep_target(target)
    version_of = {probe.endpoint.scheme: probe.request.get("http_version", "") for probe in probes}
    named = next(filter(None, version_of.values()), "")
    if named and not question.compares_schemes:
        probes = [each for each in probes if version_of[each.endpoint.scheme] == named]
    endpoints = {probe.endpoint.scheme: probe.endpoint for probe in reversed(probes)}
    arms = question.arms(list(endpoints))
    if not arms:
        raise Refused(
            f"{question.title} needs an HTTP and an HTTPS endpoint that both answer. Add the "
            "missing one to the target."
        )
    request, host = probes[0].request, probes[0].endpoint.host
    # The typed one follows further than its twin.
    follows = {each.request.get("redirects", "") for each in probes}
    redirects = "all" if "all" in follows else next(filter(None, follows), "")
    protocol = request.get("auth", {}), named, redirects
    version = plan_for(by, target.project, question, step, *protocol, host=host)
    if source := probes[0].request.get("plan"):
        share_secret(by=by, source=source, plan=version.plan)
    return [CampaignCell(version, endpoints[scheme], str(mode)) for scheme, mode in arms]


def plan_for(
    by: Actor,
    project: Project,
    question: Question,
    step: dict[str, Any],
    auth: dict[str, str],
    http_version: str = "",
    redirects: str = "",
    *,
    host: str,
) -> PlanVersion:
    """The project's plan that asks this with this request; a new one if there is none yet. A plan
    with credentials is of one host, because each host has its own secret."""
    spec = question.spec(step, auth, http_version, redirects)
    name = f"{question.plan_name}: {step['method']} {step['path']}"[:90]
    if spec["auth"]["kind"] != AuthKind.NONE:
        name = f"{name[:50]} on {host}"[:90]
    return plan_of_spec(by, project, name, spec)


@transaction.atomic
def plan_from_requests(
    *, by: Actor, project: Project, requests: Sequence[TypedRequest]
) -> tuple[PlanVersion, str]:
    """(a new plan whose steps are these requests, what to say of its credentials), and a target for
    their origin if there is none yet. Raises Refused where they have several origins or
    credentials, FilesMissing, and InvalidPlan."""
    require(by, Action.EDIT, project)
    if not requests:
        raise Refused("Choose at least one request.")
    require_files(requests)
    if len(origins := {each.origin for each in requests}) > 1:
        raise Refused(f"A plan is for one origin. Leave the requests of {len(origins) - 1} out.")
    try:
        signed, note = shared_credentials(requests)
    except NotUnderstood as fault:
        raise Refused(str(fault)) from None
    first = requests[0]
    spec = {
        "steps": [each.step for each in requests],
        "load": {"model": "closed", "connections": 1, "requests": 100},
        "auth": signed.auth,
    }
    if any(each.http_version == "2" for each in requests):
        spec["http_version"] = "2"
    if followed := [each.redirects for each in requests if each.redirects]:
        spec["redirects"] = "same_origin" if "same_origin" in followed else followed[0]
    name = f"{first.host[:60]}: {counted(len(requests), 'requests')}"
    name = free_name(name, project.plans.values_list("name", flat=True))
    secret = signed.secret if signed.auth_kind != AuthKind.NONE else None
    version = create_plan(by=by, project=project, name=name, spec=spec, secret=secret)
    endpoint = _endpoint_of(project, first) or _new_endpoint(by, project, first, is_kept=True)
    keep_target(endpoint.target)
    return version, note


MOST_STEPS = 20


def tried_steps(by: Actor, key: str) -> list[Probe]:
    """The probes of a try, in the order of the steps."""
    mine = Probe.objects.visible_to(by).filter(requested_by=by.user, request__try=key)
    return list(mine.select_related("endpoint__target").order_by("pk"))


@transaction.atomic
def try_next_step(*, by: Actor, plan: Plan, endpoint: Endpoint, key: str) -> list[Probe]:
    """Send the next step if the one before was answered as it should be. Raises Refused."""
    if plan.exchange is not None:
        raise Refused("Test requests are for HTTP plans. A saved plan tries its messages.")
    if plan.auth.kind != AuthKind.NONE:
        raise Refused("Save the plan first. Its page sends a test request with the credentials.")
    probes = tried_steps(by, key)
    if len(probes) == min(len(plan.steps), MOST_STEPS) or (probes and not went_well(probes[-1])):
        return probes
    values = {}
    for step, probe in zip(plan.steps, probes, strict=False):
        rules = ((probe.result or {}).get("rules") or [])[len(step.checks) :]
        for each, rule in zip(step.extract, rules, strict=False):
            values[each.name] = rule["value"] or ""
    cookies = _cookies(probes) if plan.session.cookies else ""
    step = with_values(plan, plan.steps[len(probes)], time.time_ns(), values)
    if cookies:
        step = replace(step, headers=(*step.headers, ("Cookie", cookies)))
    probe = request_probe(
        by=by,
        endpoint=endpoint,
        request=step.to_json(),
        http_version=str(plan.http_version),
        redirects=str(plan.redirects),
    )
    probe.request |= {"try": key, "expected_status": list(plan.expected_status)}
    probe.save(update_fields=["request"])
    return [*probes, probe]


def went_well(probe: Probe) -> bool:
    """Whether it was answered as the plan expects, and all its checks and values were there."""
    result = probe.result or {}
    if probe.finished_at is None or result.get("error"):
        return False
    is_expected = status_fits(result["status"], tuple(probe.request["expected_status"]))
    return is_expected and all(rule["holds"] for rule in result.get("rules") or ())


def _cookies(probes: Sequence[Probe]) -> str:
    """Those that responses have set, without their paths and dates."""
    cookies: dict[str, str] = {}
    for probe in probes:
        for name, value in (probe.result or {}).get("headers") or ():
            if name.lower() == "set-cookie":
                cookie, _, rest = value.partition(";")[0].partition("=")
                cookies[cookie.strip()] = rest.strip()
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
