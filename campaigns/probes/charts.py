"""Single requests: one as a waterfall, several as stacked bars."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.core.drawings import TICK_STEPS, Tick, round_up
from campaigns.domain.presentation.charts import Axis, Chart, Charts, LineStyle, Places, Series
from campaigns.domain.units import figure
from campaigns.probes.queries.probes import ProbePhase, ProbeReport

_PARTS = {
    "redirects": "part-outline",
    "dns": "part-dns",
    "close": "part-dns",
    "connect": "part-connect",
    "tls": "https",
    "send": "ink",
}


def waterfall_charts(parts: Sequence[ProbePhase]) -> Charts | None:
    """One row a part, on one axis of ms; None without an answer."""
    if not parts:
        return None
    rows = range(1, len(parts) + 1)
    spans = [(p.start_us / 1000, (p.start_us + p.duration_us) / 1000) for p in parts]
    last = max(end for _, end in spans) or 0.001
    return Charts(
        "waterfall",
        "Waterfall of the response time's parts",
        panels=[
            Chart(
                "waterfall",
                "Waterfall",
                "ms since the request began",
                "Waterfall of the response time's parts. The table below has the figures.",
                size="low" if len(parts) < 5 else "middle",
                x=Axis(title="ms", low=0, high=1.02 * last),
                y=Axis(
                    low=len(parts) + 0.6,
                    high=0.4,
                    ticks=[(row, part.name) for row, part in zip(rows, parts, strict=True)],
                ),
                series=[
                    Series(
                        name=part.name,
                        style=LineStyle(_PARTS.get(part.name, "part-wait")),
                        look="span",
                        x=[end],
                        y=[row],
                        left=[begin],
                        right=[end],
                        end=f"{part.duration_ms} ms",
                        texts=[f"{part.duration_ms} ms"],
                    )
                    for row, part, (begin, end) in zip(rows, parts, spans, strict=True)
                ],
            )
        ],
        places=Places(
            x=list(dict.fromkeys(end for _, end in spans)),
            at=[f"{figure(end)} ms" for end in dict.fromkeys(end for _, end in spans)],
        ),
    )


# A phase that took no time is still visible.
_LEAST_WIDTH = 0.2


@dataclass(frozen=True, slots=True)
class StackedPart:
    """One part in a stacked bar; its label is as long as there is room for it."""

    name: str
    label: str
    title: str
    x: float
    width: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 3)


@dataclass(frozen=True, slots=True)
class Stacked:
    """One row of parts for each report, in their order, on one axis in ms."""

    rows: list[list[StackedPart]]
    ticks: list[Tick]


# In percent of a bar that is some 420 px wide: a name needs 66 px, a number 24.
_NAME_WIDTH, _NUMBER_WIDTH = 16, 7


def draw_stacked(reports: Sequence[ProbeReport | None]) -> Stacked:
    """Each request as one bar of its parts; no parts where no answer came."""
    ends = [each.parts[-1] for each in reports if each and each.parts]
    total_ms = max((end.start_us + end.duration_us for end in ends), default=0) / 1000 or 1
    step_ms = round_up(total_ms / 4, TICK_STEPS)
    n_steps = int(total_ms / step_ms) + 1
    scale = 100 / (n_steps * step_ms)
    return Stacked(
        rows=[
            [_part(part, scale / 1000) for part in each.parts] if each else [] for each in reports
        ],
        ticks=[Tick(round(n * step_ms * scale, 3), f"{n * step_ms:,.12g}") for n in range(n_steps)],
    )


def _part(part: ProbePhase, scale_us: float) -> StackedPart:
    width = max(_LEAST_WIDTH, round(part.duration_us * scale_us, 3))
    named = f"{part.name} {part.duration_ms}"
    label = named if width >= _NAME_WIDTH else part.duration_ms if width >= _NUMBER_WIDTH else ""
    return StackedPart(part.name, label, f"{named} ms", round(part.start_us * scale_us, 3), width)
