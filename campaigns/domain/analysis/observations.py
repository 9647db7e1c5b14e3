"""A measurement's observed value for each criterion of its judgement."""

import ipaddress
from math import sqrt

from campaigns.domain.analysis.changes import Steadiness, steadiness
from campaigns.domain.analysis.criteria import (
    CROWDED,
    CROWDED_BESIDE,
    HIGH_EFFECT,
    LATE,
    TYPICAL_EFFECT,
)
from campaigns.domain.analysis.judgement import Observation
from campaigns.domain.analysis.limit import (
    injector_number,
    observed_vitals,
    others_cpu,
    worst_shard,
)
from campaigns.domain.analysis.messages import say
from campaigns.domain.metrics.injector_end import totals_by_peer
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import (
    CLIENT_KINDS,
    DROPPED,
    Kind,
    causes_of,
    is_of_overload,
    of_target,
    row_words,
)
from campaigns.domain.metrics.series import Point
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.percentiles import P50, P90, P99, WHOLE, Shown, name, shown
from campaigns.domain.plan.load import Model, planned_arrivals, planned_duration_s
from campaigns.domain.units import percent, second_text

# Little's law needs enough requests in flight: below this, rounding to whole requests dominates.
_LITTLE_MIN_IN_FLIGHT = 10
_LITTLE_MIN_SECONDS = 10
_EVEN_MODELS = {Model.CLOSED, Model.SEQUENTIAL, Model.OPEN, Model.OVER}
# A sample of fewer says little about a median.
_FEW_SAMPLED = 20
# In-flight requests of a target that keeps up vary by their square root.
_NOISE, _RISEN = 5.0, 1.5
_EXHAUSTED = CLIENT_KINDS - {Kind.CLIENT_OTHER}
_NOT_THE_TARGETS = CLIENT_KINDS | {Kind.ABORTED_BY_STOP, DROPPED}
# With fewer segments, a single retransmission would be a misleadingly large share.
_FEW_SEGMENTS = 1000
# Of fewer requests no address is said to be apart from the others.
_ENOUGH_OF_ADDRESS = 20


def judged_percentile(n: int) -> int:
    """The percentile to judge in a run of n requests: p99, p90, or the maximum."""
    return next((q for q in (P99, P90) if shown(n, q) is not Shown.NO), WHOLE)


def observe(
    measurement: Measurement, *, is_co_located: bool, n_lost: int = 0
) -> dict[str, Observation]:
    """The criteria that could be observed, by their codes in domain.analysis.judgement.

    `is_co_located`: the target is on an injector's own machine. `n_lost`: how many
    injector processes were lost during the run.
    """
    total, attempts = measurement.total, _attempts(measurement.total)
    vitals = observed_vitals(measurement.vitals)
    if is_co_located:
        vitals.pop("ports", None)  # they include the target's ends of the connections
    errors_us = [end.start_error_us for end in measurement.ends]
    starts_us = sorted(error for error in errors_us if error is not None)
    segments = total.count("segments_sent")
    body_changes = [
        (change, point["second"])
        for point in measurement.series
        if (change := point.get("body_change")) is not None
    ]
    streams = [each.streams_limit for each in measurement.ends if each.streams_limit is not None]
    observations = {
        **({} if measurement.series else {"no_seconds": Observation(1)}),
        **({} if measurement.series and attempts else {"no_requests": Observation(1)}),
        "lost_shards": Observation(n_lost),
        "sent_share": _sent_share(measurement),
        "dropped": _share_of_arrivals(measurement, total.count("dropped")),
        "slot_wait": _share_of_arrivals(measurement, total.timing("slot_wait").n),
        "injector_exhausted": Observation(sum(total.errors.get(kind, 0) for kind in _EXHAUSTED)),
        "injector_failed": Observation(total.errors.get(Kind.CLIENT_OTHER, 0)),
        # What made response times longer; nothing where there are none.
        **(
            {**_own_time(measurement), LATE: _late(measurement)}
            if total.timing("response").n
            else {}
        ),
        "little": _little(measurement),
        "missing_seconds": _missing(measurement.series),
        **_unsteady(measurement),
        "in_flight_growing": _in_flight_growing(measurement),
        # Retransmitted segments of the run's own connections. The loopback loses none: there a late
        # acknowledgement looks like a lost segment.
        "resent": Observation(total.count("segments_resent") / max(segments, _FEW_SEGMENTS))
        if segments and not is_co_located
        else None,
        # The maximum distance between two injectors' starts.
        "starts_apart": Observation(float(sum(starts_us[-2:]))) if len(starts_us) > 1 else None,
        "in_doubt": Observation(min(1.0, total.count("in_doubt") / attempts)) if attempts else None,
        **_target_errors(measurement),
        "extract_missed": Observation(
            total.count("extract_missed"),
            # Such as 20 of 20 for ${id} at GET /a.
            measure=", ".join(
                f"{n_missed:,} of {sum(of_step.statuses.values()) * len(step.extract):,} for "
                f"{' and '.join(f'${{{each.name}}}' for each in step.extract)} at {step.label}"
                for step, of_step in zip(measurement.plan.steps, measurement.steps, strict=False)
                if (n_missed := of_step.count("extract_missed"))
            ),
        ),
        "only_redirects": Observation(
            float(bool(total.statuses) and all(status.startswith("3") for status in total.statuses))
        ),
        # Of the worst second, against all before it.
        "body_changed": Observation(*max(body_changes, key=lambda pair: pair[0]))
        if body_changes
        else None,
        "cookies_too_large": Observation(total.count("cookies_too_large")),
        "uncompressed": Observation(total.count("uncompressed")),
        "streams_limit": Observation(min(streams), measure=f"{measurement.plan.streams:,}")
        if streams
        else None,
        **_addresses_apart(measurement),
        "tail": Observation(
            measurement.tail_s / measurement.duration_s, measure=measurement.tail_words
        )
        if measurement.tail_words and measurement.duration_s
        else None,
        "co_located": Observation(float(is_co_located)),
        CROWDED_BESIDE if is_co_located else CROWDED: others_cpu(measurement.vitals),
        **vitals,
    }
    return {code: each for code, each in observations.items() if each is not None}


def _attempts(total: Total) -> int:
    return total.count("ok") + total.count("failed") + total.count("dropped")


def _share_of_arrivals(measurement: Measurement, count: int) -> Observation | None:
    """`count` arrivals with all their calls, as a share of the intended requests."""
    calls = measurement.plan.calls_per_arrival
    n_intended = _attempts(measurement.total) + _not_as_planned(measurement.total)
    return Observation(min(1.0, count * calls / n_intended)) if n_intended else None


def _own_time(measurement: Measurement) -> dict[str, Observation]:
    """By how much mean, p50 and a high percentile would be less without the injectors' delays.

    Of the attempts whose reading was timed: the same ones with and without.
    """
    sampled, undelayed = measurement.total.timing("sampled"), measurement.total.timing("undelayed")
    n_all = measurement.total.timing("response").n
    n_timed = min(n_all, _FEW_SAMPLED)
    if not n_timed or sampled.n < n_timed or undelayed.n != sampled.n:
        return {}
    worst = worst_shard(measurement.vitals, "hub_lag_max_us")
    place = (worst and worst["at"]["hub_lag_max_us"], injector_number(measurement.vitals, worst))

    # A handshake waits for its server once more than a request on a kept connection does.
    waits = 1 + measurement.total.timing("tls").n / n_all

    def effect(with_us: float, without_us: float, measure: str) -> Observation:
        return Observation(with_us - without_us, *place, measure, without_us, waits)

    typical = max(
        effect(sampled.mean_us, undelayed.mean_us, "mean"),
        effect(sampled.percentile_us(P50), undelayed.percentile_us(P50), name(P50)),
        key=lambda each: each.value / max(1.0, each.whole),
    )
    q = judged_percentile(sampled.n)
    if q == WHOLE:
        return {TYPICAL_EFFECT: typical}
    high = effect(sampled.percentile_us(q), undelayed.percentile_us(q), name(q))
    return {TYPICAL_EFFECT: typical, HIGH_EFFECT: high}


def _late(measurement: Measurement) -> Observation | None:
    """The larger of the injectors' delays in sending and in reacting, at a high percentile, beside
    the run's own."""
    response = measurement.total.timing("response")
    whole_us = response.percentile_us(judged_percentile(response.n)) or 0.0
    late = []
    for delay, vital in (("own_delay", "own_delay_p99_us"), ("hub_lag", "hub_lag_max_us")):
        timing = measurement.total.timing(delay)
        if not timing.n:
            continue
        q, worst = judged_percentile(timing.n), worst_shard(measurement.vitals, vital)
        place = (worst and worst["at"][vital], injector_number(measurement.vitals, worst))
        measure = "max" if q == WHOLE else name(q)
        late.append(Observation(timing.percentile_us(q), *place, measure, whole_us))
    return max(late, key=lambda each: each.value, default=None)


def _not_as_planned(total: Total) -> int:
    """Calls skipped after a session failed were never due; retried calls were not planned."""
    return total.count("calls_skipped") - total.count("calls_retried")


def _sent_share(measurement: Measurement) -> Observation | None:
    """Started over intended requests, if the plan (not the target) decides how many there are."""
    load = measurement.plan.load
    if load.model not in {Model.OPEN, Model.OVER} or not measurement.is_whole:
        return None
    n_intended = measurement.plan.planned_requests
    n_started = measurement.total.count("started") + _not_as_planned(measurement.total)
    if measurement.plan.flows:  # the seed decides how many requests its sessions have
        n_intended = planned_arrivals(load)
        n_started = measurement.total.count("sessions_started")
    return Observation(n_started / n_intended) if n_intended else None


def _little(measurement: Measurement) -> Observation | None:
    """|L − X·R| / L of a closed load: mean requests in flight against rate × service time."""
    if measurement.plan.load.model != Model.CLOSED:
        return None
    inside = [point["in_flight"] for point in _in_time(measurement)][:-1]
    if len(inside) < _LITTLE_MIN_SECONDS or sum(inside) < _LITTLE_MIN_IN_FLIGHT * len(inside):
        return None
    in_flight = sum(inside) / len(inside)
    return Observation(abs(in_flight - measurement.mean_in_flight) / in_flight)


def _in_time(measurement: Measurement) -> list[Point]:
    """Without the warm-up and the seconds of the tail."""
    return [point for point in measurement.series if 0 <= point["second"] < measurement.duration_s]


def steadiness_of(measurement: Measurement) -> tuple[Steadiness | None, int, int]:
    """What the seconds' p50 say, the second in which the last level was left, where it had been
    there before, and the one from which it holds.

    Only for constant loads. Leaves out the last second, which is incomplete.
    """
    load = measurement.plan.load
    is_even = load.model in _EVEN_MODELS and not (
        load.stages or load.ramp_up_s or load.start_offset_s
    )
    levels = [
        (point["second"], point["p50_ms"])
        for point in _in_time(measurement)[:-1]
        if point["p50_ms"]
    ]
    result = steadiness([level for _, level in levels]) if is_even else None
    return (
        (result, levels[result.left_at][0], levels[result.steady_from][0])
        if result
        else (None, 0, 0)
    )


def trend_words(
    steadiness: Steadiness | None, departure_s: int, steady: int, *, is_over: bool
) -> str:
    """ "" where the seconds do not say. `steady`: the second in which the last level begins;
    `left`: the one in which it was left, where it had been there before."""
    if steadiness is None:
        return ""
    if not steadiness.steady_from:
        # A short stretch in between, or several, may not have been told from noise.
        return say("no_trend", found="was found" if is_over else "so far")
    if steadiness.left_at:
        between = f"from {second_text(departure_s)} to {second_text(steady)}"
        higher = "higher" if steadiness.ratio > 1 else "lower"
        size = percent(abs(steadiness.ratio - 1))
        return say("trend_back", between=between, size=size, higher=higher)
    change = 1 / steadiness.ratio - 1
    rose = change > 0
    verb = ("rose" if rose else "fell") if is_over else ("are rising" if rose else "are falling")
    higher, size = "higher" if rose else "lower", percent(abs(change))
    return say("trend", rose=verb, since=second_text(steady), size=size, higher=higher)


def _unsteady(measurement: Measurement) -> dict[str, Observation]:
    """How much of the run precedes its last stretch at one level, or was away from that level."""
    steady, departure, second = steadiness_of(measurement)
    if steady is None or not steady.steady_from:
        return {}
    if steady.left_at:
        code = "longer_for_a_while" if steady.ratio > 1 else "shorter_for_a_while"
        return {
            code: Observation(steady.unsteady_share, second, measure=f"from second {departure} on")
        }
    code = "warming_up" if steady.ratio > 1 else "slowing_down"
    return {code: Observation(steady.unsteady_share, second)}


def _in_flight_growing(measurement: Measurement) -> Observation | None:
    """How much of what arrived in the second half of an even open load was left in flight.

    Only if response times rose with it: a slow target that keeps up also needs some time until as
    many are in flight as it takes. Growth within the noise of a Poisson process is none.
    """
    load = measurement.plan.load
    duration_s = planned_duration_s(load)
    if (
        load.model not in {Model.OPEN, Model.OVER}
        or load.stages
        or load.ramp_up_s
        or not duration_s
    ):
        return None
    points = [point for point in measurement.series if 0 <= point["second"] < int(duration_s)]
    levels = [point["p50_ms"] for point in points if point["p50_ms"]]
    half = len(points) // 2
    if half < 1 or len(levels) < 2:
        return None
    growth = points[-1]["in_flight"] - points[half - 1]["in_flight"]
    n_started = sum(point["started"] for point in points[half:])
    if levels[-1] < _RISEN * levels[0] or growth < _NOISE * sqrt(points[-1]["in_flight"]):
        return Observation(0.0)
    return Observation(growth / n_started) if n_started else None


def _missing(series: list[Point]) -> Observation | None:
    """The share of shard-seconds that were not delivered, including gaps between seconds."""
    points = [point for point in series if point["second"] >= 0]
    if not points:
        return None
    holes = points[-1]["second"] + 1 - len(points)
    shards = max(point["shards"] + point["missing"] for point in points)
    missing = sum(point["missing"] for point in points) + holes * shards
    first = next((point["second"] for point in points if point["missing"]), None)
    return Observation(missing / (missing + sum(point["shards"] for point in points)), first)


def _target_errors(measurement: Measurement) -> dict[str, Observation]:
    """Failures that are neither the injector's nor of a stop; without any success, `no_success`.

    Where the load looks for the limit, those of overload are the limit: `errors_at_limit`.
    """
    total = measurement.total
    failed = total.count("failed") - sum(total.errors.get(kind, 0) for kind in _NOT_THE_TARGETS)
    if failed <= 0:
        return {}
    worst = max(measurement.series, key=lambda point: point["failed"], default=None)
    second = worst["second"] if worst and worst["failed"] else None
    if not total.timing("response").n:
        return {"no_success": Observation(1, measure=_cause(measurement))}
    of_overload = (row.count for row in of_target(measurement.failures) if is_of_overload(row))
    at_limit = sum(of_overload) if measurement.plan.seeks_limit else 0
    if not at_limit:
        return {
            "errors": Observation(failed / _attempts(total), second, measure=_cause(measurement))
        }
    others = max(0, failed - at_limit)
    return {
        "errors_at_limit": Observation(
            at_limit / _attempts(total), second, measure=_cause(measurement)
        ),
        "errors": Observation(others / _attempts(total), measure="of other kinds"),
    }


def _addresses_apart(measurement: Measurement) -> dict[str, Observation]:
    """How far the addresses of a name are apart, where load went over several."""
    totals = totals_by_peer(measurement.ends)
    medians = {
        peer: total.timing("response").percentile_us(P50)
        for peer, total in totals.items()
        if total.timing("response").n >= _ENOUGH_OF_ADDRESS
    }
    shares = {
        peer: sum(n for kind, n in total.errors.items() if kind not in _NOT_THE_TARGETS) / n_all
        for peer, total in totals.items()
        if (n_all := total.count("ok") + total.count("failed")) >= _ENOUGH_OF_ADDRESS
    }
    apart = {}
    for code, values in (("address_slow", medians), ("address_failing", shares)):
        if len(values) < 2:
            continue
        worst, best = max(values, key=values.get), min(values, key=values.get)
        high, low = values[worst], values[best]
        value = high - low if code == "address_failing" else high / max(1.0, low)
        apart[code] = Observation(value, measure=f"{worst} against {best}")
    return apart


def _cause(measurement: Measurement) -> str:
    """The most frequent failure: "connection refused", or the status."""
    causes = causes_of(row for row in measurement.failures if row.kind not in _NOT_THE_TARGETS)
    if not causes:
        return "see the errors"
    most = causes[0]
    return f"status {most.status}" if most.kind == Kind.STATUS_UNEXPECTED else row_words(most)


def hosts_of(peers: list[str]) -> set[str]:
    """The addresses of peers such as 10.0.0.5:443 or [::1]:443."""
    return {peer.rpartition(":")[0].strip("[]") for peer in peers}


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
