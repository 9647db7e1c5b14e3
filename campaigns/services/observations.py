"""What a finished run shows of each validity criterion, read from its summary."""

import ipaddress
from typing import Any

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.outcomes import CLIENT_KINDS
from campaigns.domain.percentiles import P90, P99, WHOLE, Shown, name, shown
from campaigns.domain.plan import Model, Plan, planned_requests
from campaigns.domain.snapshot import Total
from campaigns.domain.validity import Observed
from campaigns.models import InjectorHost, Run, RunSummary

# Vitals of which the mean over the run counts, by criterion.
_MEANS = {"cpu": "cpu_share", "run_delay": "run_delay_share", "other_cpu": "other_cpu_share"}
# Little's law needs a queue that is there: below this, rounding to whole requests is the error.
_LITTLE_MIN_IN_FLIGHT = 10
_LITTLE_MIN_SECONDS = 10


def judged_percentile(n: int) -> int:
    """The percentile that counts in a run of n requests: p99, p90, or the maximum."""
    return next((q for q in (P99, P90) if shown(n, q) is not Shown.NO), WHOLE)


def headline_us(total: Total) -> float | None:
    """The run's own high percentile of the response time; None if no request succeeded."""
    response = total.timing("response")
    return response.percentile_us(judged_percentile(response.n))


def observe(run: Run, summary: RunSummary, total: Total) -> dict[str, Observed]:
    """The criteria that could be looked at; codes as in domain.validity."""
    is_local = is_co_located(run)
    vitals = _vitals(summary)
    if is_local:
        # The target is one of the other programs: what they take says nothing by itself.
        vitals.pop("other_cpu", None)
    seen = {
        "too_few_requests": Observed(_attempts(total)),
        "lateness_p99": _lateness(summary, total),
        "sent_share": _sent_share(run, total),
        "dropped": _share_of_attempts(total, total.count("dropped")),
        "injector_exhausted": Observed(sum(total.errors.get(kind, 0) for kind in CLIENT_KINDS)),
        "little": _little(run, summary, total),
        "missing_seconds": _missing(summary),
        "errors": _target_errors(summary, total),
        "only_redirects": Observed(float(_only_redirects(total))),
        "co_located": Observed(float(is_local)),
        **vitals,
    }
    return {code: each for code, each in seen.items() if each is not None}


def _attempts(total: Total) -> int:
    return total.count("ok") + total.count("failed") + total.count("dropped")


def _share_of_attempts(total: Total, count: int, second: int | None = None) -> Observed | None:
    attempts = _attempts(total)
    return Observed(count / attempts, second) if attempts else None


def _lateness(summary: RunSummary, total: Total) -> Observed | None:
    """The lateness at the percentile that the run's own size allows to judge."""
    lateness = total.timing("lateness")
    if not lateness.n:
        return None
    worst = _worst_shard(summary, "lateness_p99_us")
    judged = judged_percentile(lateness.n)
    return Observed(
        lateness.percentile_us(judged),
        worst["at"]["lateness_p99_us"] if worst else None,
        _number(summary, worst),
        "max" if judged == WHOLE else name(judged),
    )


def _sent_share(run: Run, total: Total) -> Observed | None:
    """Started of intended requests, where the plan (not the target) decides how many there are."""
    load = Plan.from_json(run.snapshot["plan"]).load
    if load.model not in {Model.OPEN, Model.OVER} or run.outcome not in {None, Outcome.COMPLETE}:
        return None
    intended = planned_requests(load)
    return Observed(total.count("started") / intended) if intended else None


def _little(run: Run, summary: RunSummary, total: Total) -> Observed | None:
    """|L − X·R| / L of a closed load: mean requests in flight against rate × service time."""
    if run.snapshot["plan"]["load"]["model"] != Model.CLOSED:
        return None
    inside = [point["in_flight"] for point in summary.series if point["second"] >= 0][:-1]
    if len(inside) < _LITTLE_MIN_SECONDS or sum(inside) < _LITTLE_MIN_IN_FLIGHT * len(inside):
        return None
    busy_s = (total.timing("service").sum_us + total.timing("failed").sum_us) / 1e6
    in_flight = sum(inside) / len(inside)
    return Observed(abs(in_flight - busy_s / summary.duration_s) / in_flight)


def _missing(summary: RunSummary) -> Observed | None:
    """The share of shard-seconds that nobody delivered, holes between seconds included."""
    measured = [point for point in summary.series if point["second"] >= 0]
    if not measured:
        return None
    holes = measured[-1]["second"] + 1 - len(measured)
    shards = max(point["shards"] + point["missing"] for point in measured)
    missing = sum(point["missing"] for point in measured) + holes * shards
    first = next((point["second"] for point in measured if point["missing"]), None)
    return Observed(missing / (missing + sum(point["shards"] for point in measured)), first)


def _target_errors(summary: RunSummary, total: Total) -> Observed | None:
    failed = total.count("failed") - sum(total.errors.get(kind, 0) for kind in CLIENT_KINDS)
    worst = max(summary.series, key=lambda point: point["failed"], default=None)
    second = worst["second"] if worst and worst["failed"] else None
    return _share_of_attempts(total, max(0, failed), second)


def _only_redirects(total: Total) -> bool:
    return bool(total.statuses) and all(status.startswith("3") for status in total.statuses)


def is_co_located(run: Run) -> bool:
    """Whether an address that was connected to is one of the injectors' own."""
    peers = {
        _host_of(peer) for shard in run.shards.all() for peer in (shard.end or {}).get("peers", {})
    }
    if any(_is_loopback(peer) for peer in peers):
        return True
    names = {shard.host for shard in run.shards.all()}
    own = InjectorHost.objects.filter(name__in=names).values_list("facts", flat=True)
    return any(peer in facts.get("addresses", "").split() for facts in own for peer in peers)


def _host_of(peer: str) -> str:
    return peer.rpartition(":")[0].strip("[]")


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _vitals(summary: RunSummary) -> dict[str, Observed | None]:
    seen: dict[str, Observed | None] = {}
    for code, vital in _MEANS.items():
        shards = [each for each in summary.vitals if vital in each["mean"]]
        worst = max(shards, key=lambda each: each["mean"][vital], default=None)
        if worst:
            at = worst["at"][vital]
            seen[code] = Observed(worst["mean"][vital], at, _number(summary, worst))
    worst = _worst_shard(summary, "hub_lag_max_us")
    if worst:
        lag, at = worst["worst"]["hub_lag_max_us"], worst["at"]["hub_lag_max_us"]
        seen["hub_lag"] = Observed(lag, at, _number(summary, worst))
    busiest = max(summary.vitals, key=lambda each: each["cpu_5s"] or 0.0, default=None)
    if busiest and busiest["cpu_5s"] is not None:
        seen["cpu_5s"] = Observed(
            busiest["cpu_5s"], busiest["cpu_5s_at"], _number(summary, busiest)
        )
    return seen


def _worst_shard(summary: RunSummary, vital: str) -> dict[str, Any] | None:
    shards = [each for each in summary.vitals if vital in each["worst"]]
    return max(shards, key=lambda each: each["worst"][vital], default=None)


def _number(summary: RunSummary, shard: dict[str, Any] | None) -> int | None:
    """The injector's number from 1, where there is more than one to name."""
    return shard["shard"] + 1 if shard and len(summary.vitals) > 1 else None
