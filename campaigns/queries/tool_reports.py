"""One run as text in the style of ab, httperf, JMeter or wsperf, as the command line prints it."""

from collections.abc import Iterator

from campaigns.domain.measured.snapshot import Second, Timing, Total, total_of
from campaigns.domain.other_tools.reports import REPORTS, ReportHead, styles_for
from campaigns.models import Run
from campaigns.queries.measurements import measurement_of
from campaigns.queries.retention import kept_of


def tool_report(run: Run, style: str = "") -> str | None:
    """The text; without `style`, in the best fitting one; None for an unknown style."""
    # With the warm-up, which a summary lacks.
    measurement = measurement_of(run)
    if run.is_done:
        measurement.warm_up = warm_up_of(run)
    report = REPORTS.get(style or styles_for(measurement.plan)[0])
    return report and f"{report(measurement, _head(run))}\n"


def _head(run: Run) -> ReportHead:
    frozen = run.frozen
    return ReportHead(
        host=frozen.endpoint.host,
        port=frozen.endpoint.port,
        connection_mode=frozen.connection_mode,
        judged=run.judged,
    )


def warm_up_of(run: Run) -> Total:
    """Of a finished run, with response times only."""
    kept = kept_of(run)
    return Total.from_json(kept["warm_up"]) if kept else total_of(_warm_up(run))


def _warm_up(run: Run) -> Iterator[Second]:
    """The warm-up's seconds with response times only; reports need no more."""
    for row in run.seconds.filter(second__lt=0):
        seen = row.value()
        response = seen.timings.get("response", Timing())
        yield Second(seen.second, seen.step, seen.counters, timings={"response": response})
