"""Test requests of a plan that is being written: each step once, in order, with the values that
earlier responses gave. A try is the probes with its key; whoever looks on sends the next one."""

import time
from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from campaigns.core.permissions import Actor
from campaigns.domain.errors import Refused
from campaigns.domain.plan.plan import Plan, status_fits
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.step import Step
from campaigns.domain.plan.typed_request import with_values
from campaigns.models import Endpoint, Probe
from campaigns.probes.services.probes import request_probe

MOST_STEPS = 20
_COOKIE = "set-cookie"


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
    values, cookies = _saved(plan.steps, probes), _cookies(probes) if plan.session.cookies else ""
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


def _saved(steps: Sequence[Step], probes: Sequence[Probe]) -> dict[str, str]:
    values: dict[str, str] = {}
    for step, probe in zip(steps, probes, strict=False):
        rules = ((probe.result or {}).get("rules") or [])[len(step.checks) :]
        for each, rule in zip(step.extract, rules, strict=False):
            values[each.name] = rule["value"] or ""
    return values


def _cookies(probes: Sequence[Probe]) -> str:
    """Those that responses have set, without their paths and dates."""
    cookies: dict[str, str] = {}
    for probe in probes:
        for name, value in (probe.result or {}).get("headers") or ():
            if name.lower() == _COOKIE:
                cookie, _, rest = value.partition(";")[0].partition("=")
                cookies[cookie.strip()] = rest.strip()
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
