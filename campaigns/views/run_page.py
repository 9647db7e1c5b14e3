"""The context of the run page, for members and share link visitors. The errors section of a run's
or a campaign's page: rows with strips on the run's axis. Where each remedy of what to do is done.
What a target's machine did over all runs of a campaign, drawn one run after another: x in percent
of the width, y in px from the top. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.timezone import localtime

from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.failures import FailureRow
from campaigns.domain.metrics.machine_use import MachineRun, MachineRuns, MachineStep
from campaigns.domain.presentation.errors_table import Errors
from campaigns.domain.presentation.machine_table import (
    machine_means_table,
    machine_runs_table,
    namer_of_runs,
)
from campaigns.domain.presentation.plan_words import plan_load_words
from campaigns.domain.presentation.results import Answer, Remedy, RunReport
from campaigns.domain.presentation.tables import Row
from campaigns.domain.presentation.threshold_tables import threshold_lines
from campaigns.domain.presentation.what_to_do import Place
from campaigns.domain.units import count, counted
from campaigns.live.events import Cursor
from campaigns.live.feed import FEED
from campaigns.live.memory import noted_points_of, point_columns_of, report_of
from campaigns.models import Campaign, FailureExample, Run, Test
from campaigns.permissions import Actor
from campaigns.queries.engine import waiting_reason
from campaigns.queries.machine_runs import (
    MOST_SHOWN,
    machine_report,
    outputs_of_run,
    runs_beside_each_other,
)
from campaigns.queries.runs import Key, chart_plan, examples_of, happenings, planned_end, planned_of
from campaigns.views.drawings import TICK_STEPS, Tick, parts_bar, round_up, sparks_of


def run_context(run: Run, actor: Actor) -> dict[str, Any]:
    """The page's context without the project's navigation and the user's rights."""
    run.shows_machine = actor.sees_machines
    # Read the cursor first: later changes may be sent twice, but are never missed.
    event = FEED.run(run.pk).look().event
    points = noted_points_of(run) if run.is_done else FEED.points(run.pk)
    plan, planned = run.frozen.plan, planned_of(run)
    report = report_of(run)
    verdicts = () if report.has_no_answer else report.verdicts
    drawing = chart_plan(run) | {"limits": threshold_lines(plan.thresholds, verdicts)}
    if run.is_done and actor.share is None:
        drawing["details"] = reverse("run-points", args=[run.pk])
    sparks = sparks_of(points, drawing["wholeSeconds"])
    # What a queued run waits for; names only what this actor may see.
    waiting = (
        ""
        if run.state != RunState.QUEUED
        else waiting_reason(run.campaign, actor) or "Waiting for earlier runs."
    )
    return {
        "run": run,
        "report": report,
        "parts_bar": parts_bar(report.parts),
        "errors": errors_section(report.errors, examples_of(actor, run=run)),
        "is_live": not run.is_done,
        "origin": run.frozen.endpoint.place,
        "n_steps": len(plan.labels),
        "load_words": plan_load_words(plan),
        "planned": planned,
        "nouns": plan.nouns,
        "planned_end": planned_end(run),
        "has_points": bool(points),
        # An active run's stream sends its points, all of them to a new viewer.
        "points": point_columns_of(run) if run.is_done else None,
        "tiles": [(tile, sparks.get(tile["key"])) for tile in report.tiles],
        "chart_plan": drawing,
        "machine": machine_report(run) if run.shows_machine else {},
        "outputs": outputs_of_run(run) if run.shows_machine else [],
        "most_shown": MOST_SHOWN,
        "happened": happenings(run, points, shows_machines=run.shows_machine),
        "under_way": waiting or ("" if run.is_done else _under_way(run)),
        "waiting": waiting,
        "cursor": Cursor(event),
        "tabs": _tabs(report),
        **remedies_context(report.remedies, run.test),
    }


def _tabs(report: RunReport) -> list[tuple[str, str, str]]:
    """(panel, title, how many)."""
    n_errors = 0 if report.errors.is_everything else sum(row.count for row in report.errors.rows)
    errors = [("errors", "Errors", count(n_errors))] if n_errors else []
    return [("result", "Result", ""), *errors, ("machine", "Machine", ""), ("setup", "Setup", "")]


def _under_way(run: Run) -> str:
    """What an active run does now, for the line with its progress bar."""
    match run.state:
        case "preparing":
            return "Injector processes are starting, then resolve and check the address."
        case "armed":
            return (
                f"All injector processes are ready; sending starts at {localtime(run.t0):%H:%M:%S}."
            )
        case "finalizing":
            return "The load has ended. Computing the figures."
    planned, end = planned_of(run), planned_end(run)
    parts = [f"after {planned.warm_up_s} s of warm-up"] if planned.warm_up_s else []
    if end:
        parts.append(f"ends {localtime(end):%H:%M:%S}")
    elif planned.requests:
        parts.append(f"ends after {counted(planned.requests, run.frozen.plan.nouns)}")
    return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class StripBar:
    """A part of a strip, all in percent of its box: a bin's share of the fullest bin."""

    x: float
    width: float
    height: float

    @property
    def y(self) -> float:
        return round(100 - self.height, 1)


@dataclass(frozen=True, slots=True)
class ErrorRow:
    row: Row
    strip: list[StripBar]
    examples: list["ShownExample"]


@dataclass(frozen=True, slots=True)
class ShownExample:
    """`reply` is cut in its first line, which names the status, and the rest."""

    when: str
    request_line: str
    request_headers: str
    status_line: str
    reply: str
    note: str


def _shown(example: FailureExample) -> ShownExample:
    request_line, _, headers = example.request.partition("\n")
    status_line, _, reply = example.reply.partition("\n")
    shown = len(example.reply.partition("\n\n")[2].encode())
    whole = example.body_bytes or 0
    cut = f"Of {whole:,} bytes of the body the first are shown." if whole > shown + 200 else ""
    return ShownExample(
        when=f"{example.at_us / 1e6:,.1f} s",
        request_line=request_line,
        request_headers=headers,
        status_line=status_line,
        reply=reply,
        note=" ".join(filter(None, (example.detail, cut))),
    )


def errors_section(
    errors: Errors, examples: Mapping[Key, list[FailureExample]] | None = None
) -> dict[str, Any]:
    """What parts/errors.html draws; examples only for those who may see them."""
    known = examples or {}
    return {
        "table": errors.table,
        "rows": [
            ErrorRow(
                row,
                _strip_of(failures, errors.length_s),
                [
                    _shown(each)
                    for each in known.get(
                        (str(row.cells[1].value or ""), failures.kind, failures.status), ()
                    )
                ],
            )
            for row, failures in zip(errors.table.rows, errors.rows, strict=True)
        ],
        "axis": f"0 to {errors.length_s:.0f}" if errors.length_s >= 1 else "0 to 1",
        "is_everything": errors.is_everything,
    }


def _strip_of(row: FailureRow, length_s: float) -> list[StripBar]:
    """Bars from second 0 to the run's end; [] where the seconds are not known."""
    top = max(row.bins, default=0)
    whole_s = max(length_s, len(row.bins) * row.bin_s, 1)
    return [
        StripBar(
            x=round(100 * number * row.bin_s / whole_s, 2),
            width=round(100 * row.bin_s / whole_s, 2),
            height=round(max(100 * count / top, 8), 1),
        )
        for number, count in enumerate(row.bins)
        if count
    ]


_LABELS: dict[str, str] = {
    Place.PLAN: "Edit the plan",
    Place.TARGET: "Edit the target",
    Place.TRY: "Try one request",
    Place.LIMIT: "How much can it take?",
    Place.AGAIN: "Run again",
    Place.HOSTS: "Injector hosts",
}


def remedies_context(remedies: Iterable[Remedy], test: Test | None) -> dict[str, Any]:
    """What parts/what_to_do.html shows, and what the rows of the errors need not tell again. `test`
    is the one that it is about."""
    shown = list(remedies)
    return {
        "remedies": [(each, _address(each.place, test), _LABELS[each.place]) for each in shown],
        "told": [each.text for each in shown],
    }


def worst_test(tests: Iterable[Test], answer: Answer) -> Test | None:
    """The first test that did as badly as the campaign."""
    worst = {each.test_id for each in answer.tests if each.target_state == answer.target_state}
    return next((test for test in tests if test.pk in worst), None)


def _address(place: str, test: Test | None) -> str:
    if place == Place.HOSTS:
        return reverse("injector-list")
    if test is None or _is_archived(place, test):
        return ""
    target = test.endpoint.target_id
    match place:
        case Place.PLAN:
            return reverse("plan-edit", args=[test.plan_version.plan_id])
        case Place.TARGET:
            return reverse("target-edit", args=[target])
        case Place.TRY:
            return f"{reverse('target-detail', args=[target])}#try"
        case Place.LIMIT:
            return reverse("target-measure", args=[target])
    again = reverse("campaign-new", args=[test.campaign.project_id])
    return f"{again}?again={test.campaign_id}"


def _is_archived(place: str, test: Test) -> bool:
    """What is archived is neither edited nor sent anything; a campaign is repeated without it."""
    if place == Place.PLAN:
        return test.plan_version.plan.archived_at is not None
    return place != Place.AGAIN and test.endpoint.target.archived_at is not None


TOP, FLOOR = 8.0, 108.0
_GAP = 0.6  # percent between two runs
_MOST_GAPS = 30.0  # percent of all gaps together
_LETTER, _LETTER_ON_PHONE = 0.75, 3.0  # percent of a letter of a label


@dataclass(frozen=True, slots=True)
class Band:
    """Where a run is; `label` is "" if it would not fit, and `is_tight` if it would not on a
    phone."""

    x: float
    width: float
    name: str
    label: str
    is_tight: bool = False


@dataclass(frozen=True, slots=True)
class MachineLine:
    """`path`: of an SVG, with a horizontal piece for each step."""

    name: str
    dash: str
    path: str


@dataclass(frozen=True, slots=True)
class MachinePanel:
    title: str
    unit: str
    lines: list[MachineLine]
    y_ticks: list[Tick]


@dataclass(frozen=True, slots=True)
class MachineDrawing:
    bands: list[Band]
    panels: list[MachinePanel]


# Of each panel: the lines' names by the figure that they draw, and the value above which its axis
# goes to 100 %.
_PANELS = (
    ("CPU", "% of all cores", {"cpu": "all", "system": "system", "watched": "processes"}, 40.0),
    ("Memory", "% used", {"memory": "used"}, 0.0),
    ("Network", "MB a second", {"received": "received", "sent": "sent", "loopback": "loopback"},
     None),
)  # fmt: skip
_DASHES = ("", "5 3", "1 3")


def machine_drawing(told: MachineRuns, name_of: Callable[[MachineRun], str]) -> MachineDrawing:
    # Each run as wide as it has steps.
    n_gaps = len(told.runs) - 1
    gap = min(_GAP, _MOST_GAPS / n_gaps) if n_gaps else 0.0
    per_step = (100 - gap * n_gaps) / sum(run.n_steps for run in told.runs)
    bands, x = [], 0.0
    for run in told.runs:
        name, width = name_of(run), per_step * run.n_steps
        label = next((each for each in (name, str(run.position)) if _fits(each, width)), "")
        is_tight = not _fits(label, width, _LETTER_ON_PHONE)
        bands.append(Band(round(x, 3), round(width, 3), name, label, is_tight))
        x += width + gap
    panels = [
        _panel(title, unit, names, told, bands, whole_above)
        for title, unit, names, whole_above in _PANELS
        if any(map(told.tells, names))
    ]
    return MachineDrawing(bands, panels)


def _fits(label: str, width: float, letter: float = _LETTER) -> bool:
    return letter * len(label) <= width


def _panel(
    title: str,
    unit: str,
    names: dict[str, str],
    told: MachineRuns,
    bands: Sequence[Band],
    whole_above: float | None,
) -> MachinePanel:
    shown = [name for name in names if told.tells(name)]
    steps = [step for run in told.runs for step in run.steps]
    highest = max(getattr(step, name) or 0.0 for step in steps for name in shown)
    is_whole = whole_above is not None and highest > whole_above
    top = 100.0 if is_whole else 1.05 * highest
    y_step = round_up(top / 2, TICK_STEPS)
    n_ticks = -int(-top // y_step)

    def y(value: float) -> float:
        return round(FLOOR - (FLOOR - TOP) * value / (y_step * n_ticks), 1)

    lines = [
        MachineLine(
            names[name], dash, _path(told.runs, bands, lambda step, of=name: getattr(step, of), y)
        )
        for name, dash in zip(shown, _DASHES, strict=False)
    ]
    ticks = [Tick(y(y_step * n), f"{y_step * n:,g}") for n in range(n_ticks + 1)]
    return MachinePanel(title, unit, lines, ticks)


def _path(
    runs: Sequence[MachineRun],
    bands: Sequence[Band],
    read: Callable[[MachineStep], float | None],
    y: Callable[[float], float],
) -> str:
    """Interrupted between runs, and where nothing was told."""
    pieces: list[str] = []
    for run, band in zip(runs, bands, strict=True):
        width, last = band.width / run.n_steps, None
        for step in run.steps:
            if (value := read(step)) is None:
                continue
            begin, end = (round(band.x + width * (step.number + n), 2) for n in (0, 1))
            move = "L" if last == step.number - 1 else "M"
            pieces.append(f"{move}{begin:g} {y(value):g}H{end:g}")
            last = step.number
    return "".join(pieces)


def machine_runs_section(campaign: Campaign, answer: Answer) -> dict[str, Any] | None:
    """None where fewer than two runs were told."""
    told = runs_beside_each_other(campaign)
    if told is None:
        return None
    name_of = namer_of_runs(answer.tests)
    drawing, table = machine_drawing(told, name_of), machine_runs_table(told, name_of)
    means = machine_means_table(told, answer.tests)
    return {"told": told, "drawing": drawing, "means": means, "table": table}
