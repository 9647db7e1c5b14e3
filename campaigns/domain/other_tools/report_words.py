"""Parts of every report: planned and achieved load, the rules, and the judgement."""

from dataclasses import dataclass

from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.thresholds import weigh
from campaigns.domain.metrics.injector_end import warnings_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.percentiles import P50, P95, P99, Shown, shown
from campaigns.domain.plan.load import Model, mean_rate_per_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.threshold_tables import ends_cell
from campaigns.domain.units import DASH, are_apart, counted, decimals_to_see, rounded, said_of

_CLOSED = {Model.CLOSED, Model.SEQUENTIAL}


@dataclass(frozen=True, slots=True)
class ReportHead:
    """A report's data besides the measurement: its target and its judgement.

    `judged` is None while the run is not over. `server_name`: the one announced in TLS, if it is
    not the host."""

    host: str
    port: int
    connection_mode: str
    judged: Judgement | None
    server_name: str = ""


class Footnotes:
    """The lines that a tool defines otherwise, or does not have: each has a mark with its words."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}

    def mark(self, text: str) -> str:
        """ " [1]"; "" where there is nothing to say."""
        if not text:
            return ""
        return f" [{self._texts.setdefault(text, len(self._texts) + 1)}]"

    def lines(self) -> list[str]:
        return [f"[{number}] {text}" for text, number in self._texts.items()]


def tail_note(result: Measurement) -> str:
    """Of rates, where a late reply would divide those of a tool."""
    tail = f"{result.tail_s:.3f} s"
    return (
        f"of the measured time; the tool's lasts to the last end, {tail} later"
        if result.tail_s
        else ""
    )


def tenths(value: float | None) -> str:
    """One decimal, as tools have it; more where it would read 0.0."""
    return DASH if value is None else f"{rounded(value, decimals_to_see(value, 1))}"


def percent_of(part: int, whole: int) -> str:
    """Two decimals, as tools have it; more where some would read as none."""
    if not whole:
        return DASH
    value = 100 * part / whole
    return str(rounded(value, decimals_to_see(value, 2)))


def per_s(result: Measurement, *names: str) -> str:
    """The rate of these counters together."""
    amount = sum(result.total.in_time(name) for name in names)
    return tenths(amount / result.duration_s if result.duration_s else None)


def ms(us: float | None) -> str:
    """To the microsecond: with the tools' own one or two decimals a fast connect would read 0.0."""
    return DASH if us is None else f"{rounded(us / 1000, 3)}"


def quantile(timing: Timing, per_100k: int) -> str:
    """A percentile; a dash if too few values lie beyond it, ~ if few do."""
    verdict = shown(timing.n, per_100k)
    if verdict is Shown.NO:
        return DASH
    mark = "~" if verdict is Shown.WEAK else ""
    return mark + ms(timing.percentile_us(per_100k))


def is_closed(result: Measurement) -> bool:
    return result.plan.load.model in _CLOSED


def clock_lines(result: Measurement) -> list[str]:
    """Both clocks, in every report: a tool's own figures know only the actual start."""
    since = intended_start(result.plan)
    return [
        f"Times of ok {result.plan.nouns} [ms]:",
        _clock_line("response time", "response", result.total, since),
        *low_lines(result),
        _clock_line("service time", "service", result.total, "the actual start"),
    ]


def low_lines(result: Measurement) -> list[str]:
    """The lower ends of response times, if one is far enough below what was measured."""
    lows = {name: result.figures.low_us(name) for name in ("mean", "p50", "p95", "p99")}
    if not any(are_apart(low, result.figures.time_us(name)) for name, low in lows.items()):
        return []
    text = "  ".join(f"{name} {ms(low)}" for name, low in lows.items() if low is not None)
    without = "without the injector's part, in the quieter half of the seconds"
    return [f"  {'at least:':<15}{text}  {without}"]


def intended_start(plan: Plan) -> str:
    """Only the first request of an arrival has a planned time."""
    if plan.calls_per_arrival == 1:
        return "the intended start"
    return f"the intended start (later requests of a {plan.load.arrival_unit}: when they are sent)"


def _clock_line(title: str, name: str, total: Total, since: str) -> str:
    timing = total.timing(name)
    figures = (
        ("mean", ms(timing.mean_us)),
        *((f"p{q // 1000}", quantile(timing, q)) for q in (P50, P95, P99)),
        ("max", ms(timing.max_us)),
    )
    text = "  ".join(f"{head} {figure}" for head, figure in figures)
    return f"  {title + ':':<15}{text}  from {since}"


def load_lines(result: Measurement) -> list[str]:
    """Planned against achieved load: compare these between tools before the times."""
    load, nouns = result.plan.load, result.plan.nouns
    rate_sent = tenths(result.sent_per_s)
    # What a WebSocket plan sends are its opening handshakes, one for each connection.
    verb = "begun" if result.plan.exchange else "sent"
    most = result.most_in_flight
    ends = "" if most is None else f" (at most {most:,} at the end of a second)"
    in_flight = f"{tenths(result.mean_in_flight)} in flight on average{ends}"
    early = f"Stopped after {result.duration_s:.1f} s, before its plan was finished."
    lines = [] if result.is_whole else [early]
    if is_closed(result):
        return [
            *lines,
            f"Load: closed loop, {counted(load.connections or 1, 'connections')} planned, "
            f"{in_flight}, {rate_sent} {nouns}/s {verb}.",
            said_of(
                nouns,
                "Times apply to this concurrency: a slow reply delays the next request.",
            ),
        ]
    if load.model == Model.WINDOW:
        return [
            *lines,
            f"Load: window, {load.low:,} to {load.high:,} being opened per injector process planned"
            f", {in_flight}, {rate_sent} connections/s started.",
            "A slow target gets fewer connections.",
        ]
    rate_per_s = mean_rate_per_s(load)
    unit = said_of(nouns, f"{load.arrival_unit}s/s")
    rate_words = f"{tenths(rate_per_s)} {unit}" if rate_per_s else "its own schedule"
    return [
        *lines,
        f"Load: {load.model}, {rate_words} planned, {rate_sent} {nouns}/s {verb}, {in_flight}.",
    ]


def closing_lines(result: Measurement, head: ReportHead) -> list[str]:
    """The rules and the verdict, at the end of every report."""
    warm_up = result.warm_up
    n_ended = warm_up.count("ok") + warm_up.count("failed")
    longest = ms(warm_up.timing("response").max_us)
    line = f"Warm-up, in no figure: {counted(n_ended, result.plan.nouns)}, longest {longest} ms."
    trust = head.judged.measurement.state if head.judged else None
    rules = ["Thresholds:"] if result.thresholds else []
    for each in weigh(result.thresholds, trust):
        text = "nothing measured" if each.measured is None else ends_cell(each).text
        if each.is_open:
            rules.append(f"  open  {each.rule}: {text}")
            continue
        since = "" if each.since is None else f", since second {each.since}"
        fault = "NOT MEASURED" if each.lacks_agent else "FAILED"
        state = "passed" if each.passed else fault
        rules.append(f"  {state}  {each.rule}: {text}{since}")
    lines = ["", *([line] if n_ended else []), *warnings_of(result.ends), *rules]
    if (judgement := head.judged) is None:
        return [*lines, "Measurement: not judged until the run has ended"]
    state = judgement.target.state
    # The three answers, each with its reasons below it, then the notes.
    return [
        *lines,
        f"Measurement: {judgement.measurement.state.words}",
        *(f"  {each.text}" for each in judgement.measurement.reasons),
        f"Target: {'not known' if state is None else state}",
        *(f"  {each.text}" for each in judgement.target.reasons),
        f"Precision: {judgement.precision.text}",
        *(f"Note: {each.text}" for each in judgement.notes),
    ]
