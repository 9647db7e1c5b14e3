"""Charts of response times: percentiles, their differences, every block, every request, a run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from campaigns.domain.analysis.ratio import RatioInterval
from campaigns.domain.percentiles import P50, P90, P95, P99, P999, WHOLE
from campaigns.domain.presentation.charts import (
    Axis,
    Chart,
    Charts,
    ChartTable,
    LineStyle,
    Mark,
    Places,
    Series,
    arm_style,
    columns,
)
from campaigns.domain.presentation.intervals import change_words
from campaigns.domain.units import DASH, figure, with_unit

Line = Mapping[str, Any]

_FIRST, _LEAST_LAST, _BEYOND = 1 / 0.9, 20, 1.08
_TICKS = [(2.0, "p50"), (10.0, "p90"), (100.0, "p99"), (1e3, "p99.9"), (1e4, "p99.99")]
_STOPS = [*_TICKS, (4.0, "p75"), (20.0, "p95"), (1e5, "p99.999")]
_LEAST_BEYOND = 10  # responses; a percentile with fewer is dotted


def percentile_charts(
    key: str,
    lines: Sequence[Line],
    of: str,
    note: str = "",
    beside: Chart | None = None,
    what: str = "response time",
) -> Charts | None:
    """`lines` as `campaign_runs` makes them; `of`: whose times; `beside`: another panel. None
    without a curve."""
    curves = [each for each in lines if each["curve"]]
    if not curves:
        return None
    axis = percentile_axis(curves)
    places = {point["x"] for line in curves for point in line["curve"]}
    stops = [
        (place, text)
        for x, text in sorted(_STOPS)
        if (place := next((each for each in places if abs(each - x) < x * 1e-6), None))
    ]
    xs = [x for x, _ in stops]
    series = [each for line in curves for each in _percentile_series(line, xs)]
    panel = Chart(
        "percentiles",
        "Percentiles",
        f"{what}, ms",
        f"{what[:1].upper()}{what[1:]} by percentile of {of}. The table below has the figures.",
        size="full",
        x=axis,
        y=Axis(scale="log", has_choice=True),
        series=series,
        note=" · ".join(filter(None, [note, "dotted: fewer than 10 responses beyond it"])),
    )
    return Charts(
        key,
        f"Percentiles of {of}",
        panels=[beside, panel] if beside else [panel],
        in_columns=bool(beside),
        places=Places(x=xs, at=[text for _, text in stops]),
    )


def percentile_axis(lines: Sequence[Line]) -> Axis:
    """How slow the slowest half, tenth, hundredth is: x = 1/(1 − q)."""
    last = max((line["curve"][-1]["x"] for line in lines if line["curve"]), default=0)
    return Axis(
        scale="log",
        title="Percentile",
        low=_FIRST,
        high=max(_LEAST_LAST, last) * _BEYOND,
        ticks=_TICKS,
    )


def _percentile_series(line: Line, stops: Sequence[float]) -> Iterator[Series]:
    points = [
        (each["x"], each["ms"], is_weak, "~" * is_weak + each["text"])
        for each in line["curve"]
        if each["x"] >= _FIRST
        for is_weak in [each["beyond"] < _LEAST_BEYOND]
    ]
    name, style = line["label"], _style(line)
    if line.get("grey"):
        yield Series(name=name, style=style, width=0.5, grey=True, **columns("x y", points))
        return
    yield Series(name=name, style=style, end=name, **columns("x y weak texts", points))
    at_stops = columns("x y", (each for each in points if each[0] in stops))
    yield Series(name=name, style=style, look="dots", radius=4, **at_stops)


def _style(line: Line) -> LineStyle:
    return line.get("style") or arm_style(line["scheme"], line["mode"])


_LABELLED = (P50, P90, P95, P99, P999)
_WIDER = 1.25


def difference_panel(
    shift: Mapping[int, RatioInterval], threshold: float, lines: Sequence[Line], words: str
) -> Chart | None:
    """Beside the percentiles, on their axis: the second line's time − the first one's, ms. `words`
    say what it shows. None for fewer than two points: they make no line."""
    if len(shift) < 2:
        return None

    def ends_of(q: int) -> list[float]:
        """Its place, difference and interval."""
        ends = shift[q]
        changes = [each - 1 for each in (ends.ratio, ends.low, ends.high)]
        return [WHOLE / (WHOLE - q), *(each * ends.baseline / 1000 for each in changes)]

    def band_of(q: int) -> list[float]:
        """Which differences are none in practice."""
        baseline_ms = shift[q].baseline / 1000
        low, high = 1 / (1 + threshold) - 1, threshold
        return [WHOLE / (WHOLE - q), 0.0, low * baseline_ms, high * baseline_ms]

    def text(q: int) -> str:
        _, *ends = ends_of(q)
        at, low, high = (figure(each, signed=True) for each in ends)
        return f"{with_unit(at, 'ms')} ({low} to {high}), {change_words(shift[q].ratio)}"

    points = [ends_of(q) for q in shift]
    # An interval that says nothing would press all others flat; it is cut off.
    most = 2 * max(abs(difference) for _, difference, *_ in points)
    values = [0.0, *(end for _, _, *ends in points for end in ends)]
    low, high = (_WIDER * end for end in (max(min(values), -most), min(max(values), most)))
    rows_in_range = [
        [x, *(min(high, max(low, each)) for each in row_ends)] for x, *row_ends in points
    ]
    labels = [
        (x, difference, figure(difference, signed=True), text(q))
        for q, (x, difference, *_) in zip(shift, points, strict=True)
        if q in _LABELLED
    ]
    baseline, candidate = lines
    style, name = LineStyle(candidate["scheme"]), candidate["label"]
    bands = columns("x y low high", map(band_of, shift))
    return Chart(
        "difference",
        "Difference",
        "ms at each percentile, 95 % intervals; grey: no practical difference",
        "The difference of each percentile. The table below has the figures.",
        size="full",
        x=percentile_axis(lines),
        y=Axis(low=low, high=high),
        series=[
            Series(style=LineStyle("line-control"), look="area", width=0, **bands),
            Series(style=style, look="area", end=name, **columns("x y low high", rows_in_range)),
            Series(style=style, look="dots", radius=4, **columns("x y labels texts", labels)),
        ],
        marks=[Mark(axis="y", at=0, label=baseline["label"], colour="ink-2")],
        note=words,
    )


def block_charts(
    key: str,
    lines: Sequence[Line],
    repeats: int,
    of: str,
    shared_ms: Sequence[float],
    *,
    title: str,
    note: str,
) -> Charts | None:
    """Every run a mark, connected along the blocks. `shared_ms`: all means that the scale, then
    logarithmic, must hold; without any the scale is the chart's own, from 0. None without a run."""
    # Runs that do not count have means as well.
    values = [
        each
        for each in lines
        if any(mean is not None for mean in (*each["means"], *each.get("apart", ())))
    ]
    if not values:
        return None
    xs = list(range(1, repeats + 1))
    step = -(-repeats // 10)
    word = "" if repeats > 6 else "block "
    up = (
        Axis(scale="log", low=min(shared_ms) / 1.2, high=1.2 * max(shared_ms))
        if shared_ms
        else None
    )
    panel = Chart(
        "blocks",
        title,
        "mean response time, ms",
        f"Mean response time of every run of {of}. The table below has the figures.",
        size="small" if shared_ms else "full",
        x=Axis(
            title="Block",
            low=0.6,
            high=repeats + 0.2,
            ticks=[(x, f"{word}{x}") for x in xs[::step]],
        ),
        y=up or Axis(),
        series=[each for line in values for each in _block_series(line)],
        note=note,
    )
    return Charts(
        key, f"Blocks of {of}", panels=[panel], places=Places(x=xs, at=[f"block {x}" for x in xs])
    )


def _block_series(line: Line) -> Iterator[Series]:
    """Of several targets the runs that do not count are crosses without a line, and break it."""
    name, style, apart = line["label"], _style(line), line.get("apart")
    runs = [
        (n, mean, text or DASH)
        for n, (mean, text) in enumerate(zip(line["means"], line["texts"], strict=False), 1)
        if mean is not None or apart is not None
    ]
    if line.get("grey"):
        yield Series(name=name, style=style, grey=True, **columns("x y", runs))
        return
    cells = columns("x y texts", runs)
    yield Series(name=name, style=style, width=1.4, radius=4, end=name, **cells)
    crosses = [(n, ms) for n, ms in enumerate(apart or (), 1) if ms is not None]
    if crosses:
        style = replace(style, shape="crossRot")
        yield Series(name=name, style=style, look="dots", radius=5, **columns("x y", crosses))


_LOOKS = {
    "failed": (LineStyle("bad", shape="crossRot"), 5.0),
    "ok": (LineStyle("ink"), 1.8),
    "warm-up": (LineStyle("ink-3", is_hollow=True), 2.2),
}


def request_charts(requests: Mapping[str, Any], nouns: str) -> Charts | None:
    """Every request of a short run as a mark at its start. `kept` as
    `request_tables.drawn_columns` makes it; None where they are too many."""
    if not requests:
        return None
    parts = (requests["s"], requests["ms"], requests["texts"], requests["mark"])
    rows = [
        (x, y, f"{name} {ms} ms, {end}", mark)
        for x, y, (name, _, _, ms, end), mark in zip(*parts, strict=True)
    ]
    series = [
        Series(style=style, look="dots", radius=radius, **columns("x y texts", some))
        for mark, (style, radius) in _LOOKS.items()
        if (some := [row for row in rows if row[-1] == mark])
    ]
    xs = list(dict.fromkeys(requests["s"]))
    panel = Chart(
        "requests",
        f"All {nouns}",
        "response time, ms, by seconds from the start of the measurement",
        f"Response time of all {nouns} by their start. The table below has the figures.",
        size="full",
        x=Axis(low=min(0.0, xs[0]), high=max(xs[-1] * 1.01, 0.001)),
        y=Axis(scale="log", has_choice=True),
        series=series,
        note=f"one mark = one {nouns[:-1]} · cross = failed · hollow = warm-up, not counted",
    )
    return Charts(
        "requests",
        f"All {nouns}",
        panels=[panel],
        places=Places(x=xs, at=[""] * len(xs)),
        table=ChartTable(requests["head"], requests["texts"]),
    )


_S = Axis(scale="time", title="second")
_FROM_0 = Axis(whole=True)
_PERCENT = Axis(low=0, high=100)


_CPU = "CPU of the target's machine by state, and of the injector,"
_TCP = "Segments sent again and listen queue overflows of the target's machine"
# Key, title, unit, what is drawn, size and upright axis.
_OVER_TIME = (
    ("requests", "Requests", "a second", "Requests ok, completed and intended", "low", _FROM_0),
    (
        "response", "Response time", "ms, from the intended start, log scale",
        "p50, p95 and p99 of the response time", "high", Axis(scale="log"),
    ),
    ("open", "Open connections", "at the end of each second", "Open connections", "low", _FROM_0),
    ("messages", "Messages", "a second", "Messages", "low", _FROM_0),
    (
        "machine-cpu", "Target's CPU", "% of all cores; dotted: the injector, % of a core", _CPU,
        "low", _PERCENT,
    ),
    ("machine-processes", "Target's processes", "CPU", "CPU of processes", "low", _FROM_0),
    ("machine-memory", "Target's memory", "% used", "Memory of the target", "low", _PERCENT),
    ("machine-network", "Target's network", "MB a second", "Bytes sent, received", "low", Axis()),
    ("machine-trouble", "Target's TCP", "a second", _TCP, "low", _FROM_0),
    ("errors", "Errors", "a second", "Errors by kind", "errors", _FROM_0),
)  # fmt: skip


def over_time_charts(title: str) -> Charts:
    """The panels of a run over time, whose series static/js/charts/over_time.js makes of points as
    they come. One without anything to show is hidden."""
    panels = [
        Chart(key, name, unit, f"{of} in every second.", size, _S, y)
        for key, name, unit, of, size, y in _OVER_TIME
    ]
    return Charts("over-time", title, panels)
