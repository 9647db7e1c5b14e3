"""Charts of response times: percentiles and their shift, every block, every request, a run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from campaigns.domain.analysis.overhead import ShiftPoint
from campaigns.domain.percentiles import P50, P90, P95, P99, P999, WHOLE
from campaigns.domain.presentation.charts import (
    Axis,
    Band,
    Chart,
    Charts,
    ChartTable,
    LineStyle,
    Mark,
    Places,
    Series,
    arm_style,
)
from campaigns.domain.units import DASH, number

Line = Mapping[str, Any]

_FIRST, _LEAST_LAST, _BEYOND = 1 / 0.9, 20, 1.08
_TICKS = [(2.0, "p50"), (10.0, "p90"), (100.0, "p99"), (1e3, "p99.9"), (1e4, "p99.99")]
_STOPS = [*_TICKS, (4.0, "p75"), (20.0, "p95"), (1e5, "p99.999")]
_LEAST_BEYOND = 10  # responses; a percentile with fewer is dotted
_MOST_TEXTS = 400  # blocks whose axis has words


def percentile_charts(
    key: str,
    lines: Sequence[Line],
    of: str,
    note: str = "",
    shift: Chart | None = None,
) -> Charts | None:
    """`lines` as `campaign_runs` makes them; `of`: whose response times; `shift`: a panel below.
    None without a curve."""
    drawn = [each for each in lines if each["curve"]]
    if not drawn:
        return None
    axis = percentile_axis(drawn)
    known = {point["x"] for line in drawn for point in line["curve"]}
    stops = [
        (found, text)
        for x, text in sorted(_STOPS)
        if (found := next((each for each in known if abs(each - x) < x * 1e-6), None))
    ]
    xs = [x for x, _ in stops]
    series = [each for line in drawn for each in _percentile_series(line, xs)]
    panel = Chart(
        key="percentiles",
        title="Percentiles",
        unit="response time, ms",
        name=f"Response time by percentile of {of}. The table below has the figures.",
        size="full",
        x=axis,
        y=Axis(scale="log", has_choice=True),
        series=series,
        note=" · ".join(filter(None, [note, "dotted: fewer than 10 responses beyond it"])),
    )
    return Charts(
        key=key,
        name=f"Percentiles of {of}",
        panels=[panel, *([shift] if shift else [])],
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
    curve = [point for point in line["curve"] if point["x"] >= _FIRST]
    texts = [("~" if p["beyond"] < _LEAST_BEYOND else "") + p["text"] for p in curve]
    base = Series(
        name=line["label"],
        style=_style(line),
        x=[point["x"] for point in curve],
        y=[point["ms"] for point in curve],
        grey=line.get("grey", False),
    )
    if base.grey:
        yield replace(base, width=0.5)
        return
    weak = [point["beyond"] < _LEAST_BEYOND for point in curve]
    yield replace(base, weak=weak, texts=texts, end=line["label"])
    at_stops = [point for point in curve if point["x"] in stops]
    yield replace(
        base,
        look="dots",
        radius=4,
        x=[point["x"] for point in at_stops],
        y=[point["ms"] for point in at_stops],
    )


def _style(line: Line) -> LineStyle:
    style = line.get("style") or arm_style(line["scheme"], line["mode"])
    return replace(style, dash=tuple(line["dash"])) if "dash" in line else style


_LABELLED = (P50, P90, P95, P99, P999)
_WIDER = 1.25


def shift_panel(
    points: Sequence[ShiftPoint], threshold: float, lines: Sequence[Line], scheme: str, words: str
) -> Chart | None:
    """Below the percentiles, on their axis. None for fewer than two points: they make no line."""
    if len(points) < 2:
        return None
    # An interval that says nothing would press all others flat; it is cut off.
    widest = max(abs(point.interval.ratio - 1) for point in points) + threshold
    ends = [end - 1 for point in points for end in (point.interval.low, point.interval.high)]
    low = _WIDER * max(min([*ends, -threshold]), -2 * widest)
    high = _WIDER * min(max([*ends, threshold]), 2 * widest)
    labelled = [point for point in points if point.q in _LABELLED]

    def held(change: float) -> float:
        return 100 * min(high, max(low, change))

    def x(point: ShiftPoint) -> float:
        return WHOLE / (WHOLE - point.q)

    def text(point: ShiftPoint) -> str:
        return number(100 * (point.interval.ratio - 1), 1, signed=True)

    style = LineStyle(scheme)
    return Chart(
        key="shift",
        title="Shift",
        unit="% of the baseline, 95 % intervals; grey: no practical difference",
        name="The change of each percentile. The table below has the figures.",
        size="low",
        x=percentile_axis(lines),
        y=Axis(low=100 * low, high=100 * high),
        series=[
            Series(
                style=style,
                look="area",
                x=[x(point) for point in points],
                y=[held(point.interval.ratio - 1) for point in points],
                low=[held(point.interval.low - 1) for point in points],
                high=[held(point.interval.high - 1) for point in points],
            ),
            Series(
                style=style,
                look="dots",
                radius=3,
                x=[x(point) for point in labelled],
                y=[held(point.interval.ratio - 1) for point in labelled],
                texts=[f"{text(point)} %" for point in labelled],
                labels=[text(point) for point in labelled],
            ),
        ],
        bands=[Band(axis="y", low=-100 * threshold, high=100 * threshold)],
        marks=[Mark(axis="y", at=0, colour="line-control")],
        note=words,
    )


def block_charts(
    key: str,
    lines: Sequence[Line],
    repeats: int,
    of: str,
    shared_ms: Sequence[float] = (),
    *,
    title: str = "Every block",
    note: str = "",
) -> Charts | None:
    """Every run a mark, connected along the blocks. `shared_ms`: all means that the scale, then
    logarithmic, must hold; without any the scale is the chart's own, from 0. None without a run."""
    measured = [each for each in lines if any(map(_is_known, _means(each)))]
    if not measured:
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
        key="blocks",
        title=title,
        unit="mean response time, ms",
        name=f"Mean response time of every run of {of}. The table below has the figures.",
        size="small" if shared_ms else "full",
        x=Axis(
            title="Block",
            low=0.6,
            high=repeats + 0.2,
            ticks=[(x, f"{word}{x}") for x in xs[::step]],
        ),
        y=up or Axis(),
        series=[each for line in measured for each in _block_series(line)],
        note=note,
    )
    return Charts(
        key=key,
        name=f"Blocks of {of}",
        panels=[panel],
        places=Places(x=xs, at=[f"block {x}" for x in xs]),
    )


def _means(line: Line) -> list[float | None]:
    """Those of runs that do not count among them."""
    return [*line["means"], *line.get("apart", ())]


def _is_known(value: float | None) -> bool:
    return value is not None


def _block_series(line: Line) -> Iterator[Series]:
    """Of several targets the runs that do not count are crosses without a line, and break it."""
    style, apart = _style(line), line.get("apart")
    texts = [text or DASH for text in line["texts"]]
    runs = [
        (n, mean, text)
        for n, (mean, text) in enumerate(zip(line["means"], texts, strict=False), 1)
        if mean is not None or apart is not None
    ]
    base = Series(
        name=line["label"],
        style=style,
        width=1.4,
        radius=0 if line.get("grey") else 4,
        x=[n for n, _, _ in runs],
        y=[mean for _, mean, _ in runs],
        grey=line.get("grey", False),
    )
    yield base if base.grey else replace(base, texts=[t for *_, t in runs], end=line["label"])
    crosses = [(n, ms) for n, ms in enumerate(apart or (), 1) if ms is not None]
    if crosses:
        yield Series(
            name=line["label"],
            style=replace(style, shape="crossRot"),
            look="dots",
            radius=5,
            x=[n for n, _ in crosses],
            y=[ms for _, ms in crosses],
        )


_LOOKS = {
    "failed": (LineStyle("bad", shape="crossRot"), 5.0),
    "ok": (LineStyle("ink"), 1.8),
    "warm-up": (LineStyle("ink-3", is_hollow=True), 2.2),
}


def request_charts(columns: Mapping[str, Any], nouns: str) -> Charts | None:
    """Every request of a short run as a mark at its start. `columns` as
    `request_tables.drawn_columns` makes them; None where they are too many."""
    if not columns:
        return None
    rows = list(zip(columns["s"], columns["ms"], columns["mark"], columns["texts"], strict=True))
    series = []
    for mark, (style, radius) in _LOOKS.items():
        some = [row for row in rows if row[2] == mark]
        if some:
            series.append(
                Series(
                    style=style,
                    look="dots",
                    radius=radius,
                    x=[s for s, *_ in some],
                    y=[ms for _, ms, *_ in some],
                    texts=[f"{texts[0]} {texts[3]} ms, {texts[4]}" for *_, texts in some],
                )
            )
    one = "connection" if nouns == "connections" else "request"
    xs = list(dict.fromkeys(columns["s"]))
    panel = Chart(
        key="requests",
        title=f"All {nouns}",
        unit="response time, ms, by seconds from the start of the measurement",
        name=f"Response time of all {nouns} by their start. The table below has the figures.",
        size="full",
        x=Axis(low=min(0.0, xs[0]), high=max(xs[-1] * 1.01, 0.001)),
        y=Axis(scale="log", has_choice=True),
        series=series,
        note=f"one mark = one {one} · cross = failed · hollow = warm-up, not counted",
    )
    return Charts(
        key="requests",
        name=f"All {nouns}",
        panels=[panel],
        places=Places(x=xs, at=[""] * len(xs)),
        table=ChartTable(head=columns["head"], rows=columns["texts"]),
    )


_S = Axis(scale="time", title="second")
_FROM_0 = Axis(whole=True)
_PERCENT = Axis(low=0, high=100)


def over_time_charts(title: str) -> Charts:
    """The panels of a run over time, whose series static/js/charts/over_time.js makes of points as
    they come. One without anything to show is hidden."""

    def panel(key: str, name: str, unit: str, of: str, y: Axis = _FROM_0, size: str = "low"):
        said = f"{of} in every second."
        return Chart(key=key, title=name, unit=unit, name=said, size=size, x=_S, y=y)

    cpu = "CPU of the target's machine by state, and of the injector,"
    tcp = "Segments sent again and listen queue overflows of the target's machine"
    return Charts(
        key="over-time",
        name=title,
        panels=[
            panel("requests", "Requests", "a second", "Requests ok, completed and intended"),
            panel(
                "response",
                "Response time",
                "ms, from the intended start, log scale",
                "p50, p95 and p99 of the response time",
                Axis(scale="log"),
                "high",
            ),
            panel("open", "Open connections", "at the end of each second", "Open connections"),
            panel("messages", "Messages", "a second", "Messages"),
            panel(
                "machine-cpu",
                "Target's CPU",
                "% of all cores; dotted: the injector, % of a core",
                cpu,
                _PERCENT,
            ),
            panel("machine-processes", "Target's processes", "CPU", "CPU of the chosen processes"),
            panel("machine-memory", "Target's memory", "% used", "Memory of the target", _PERCENT),
            panel("machine-network", "Target's network", "MB a second", "Bytes sent and received"),
            panel("machine-trouble", "Target's TCP", "a second", tcp),
            panel("errors", "Errors", "a second", "Errors by kind", size="errors"),
        ],
    )
