"""One run as text in the style of ab, httperf, JMeter or wsperf: what the command line prints."""

from collections import Counter
from collections.abc import Callable, Iterator

from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.measured.injector_end import (
    most_of,
    sending_s_of,
    servers_of,
    sum_of,
    warnings_of,
)
from campaigns.domain.measured.series import most_in_flight
from campaigns.domain.measured.snapshot import Second, Timing, total_of
from campaigns.domain.other_tools.measurement import Measurement
from campaigns.domain.other_tools.reports import REPORTS, styles_for
from campaigns.models import Run
from campaigns.queries.reports import Measured, measured_of

_NOT_JUDGED = "not judged before the run has ended"


def tool_report(run: Run, style: str = "") -> str | None:
    """The text; without a style in the one that fits best, None where there is no such style."""
    measurement = measurement_of(run)
    report = REPORTS.get(style or styles_for(measurement)[0])
    return report and f"{report(measurement)}\n"


def tool_reports(run: Run) -> list[tuple[str, str]]:
    """(style, text) in every style that fits the run, the most fitting first."""
    measurement = measurement_of(run)
    return [(style, REPORTS[style](measurement)) for style in styles_for(measurement)]


def measurement_of(run: Run) -> Measurement:
    seen, frozen = measured_of(run), run.frozen
    ends = run.ends
    return Measurement(
        plan=frozen.plan,
        host=frozen.endpoint.host,
        port=frozen.endpoint.port,
        connection_mode=frozen.connection_mode,
        total=seen.total,
        duration_s=seen.duration_s,
        verdict=(run.validity or _NOT_JUDGED, run.validity_reasons),
        steps=seen.steps,
        warm_up=total_of(_warm_up(run)),
        replies=_by_second(run, seen, _n_replies),
        sessions=_by_second(run, seen, _n_sessions),
        tls=[entry for end in ends for entry in end.tls],
        cpu_us=sum_of(ends, "cpu_us"),
        cpu_user_us=sum_of(ends, "cpu_user_us"),
        connect_burst=most_of(ends, "connect_burst"),
        connections_at_once=sum_of(ends, "connections_at_once"),
        thresholds=seen.thresholds,
        warnings=warnings_of(ends),
        servers=servers_of(ends),
        most_in_flight=most_in_flight(seen.series),
        sending_s=sending_s_of(ends),
        is_stopped=run.state == RunState.DONE and run.outcome != Outcome.COMPLETE,
    )


def _warm_up(run: Run) -> Iterator[Second]:
    """Its seconds with their response times only: reports say no more of it."""
    for row in run.seconds.filter(second__lt=0):
        response = Timing.from_json(row.timings.get("response"))
        yield Second(row.second, row.step, row.counters, timings={"response": response})


def _by_second(
    run: Run, seen: Measured, count: Callable[[dict[str, int], dict[str, int]], int]
) -> Counter[int]:
    last = seen.series[-1]["second"] if seen.series else -1
    rows = run.seconds.filter(second__gte=0, second__lte=last)
    found: Counter[int] = Counter()
    for second, statuses, counters in rows.values_list("second", "statuses", "counters"):
        found[second] += count(statuses, counters)
    return found


def _n_replies(statuses: dict[str, int], counters: dict[str, int]) -> int:
    return sum(statuses.values())


def _n_sessions(statuses: dict[str, int], counters: dict[str, int]) -> int:
    return counters.get("sessions_ok", 0)
