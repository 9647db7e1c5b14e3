"""The context of the run page, for members and share link visitors. The errors section of a run's
or a campaign's page: rows with strips on the run's axis. Where each remedy is done."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.timezone import localtime

from campaigns.campaigns.queries.campaigns import newest_event
from campaigns.core.drawings import parts_bar, sparks_of
from campaigns.core.permissions import Actor
from campaigns.core.plots import over_time_charts, percentile_charts, request_charts
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.outcomes import FailureRow
from campaigns.domain.presentation.host_use import programs_table
from campaigns.domain.presentation.plan_words import plan_load_words
from campaigns.domain.presentation.request_tables import Errors
from campaigns.domain.presentation.results import Answer
from campaigns.domain.presentation.tables import Row
from campaigns.domain.presentation.threshold_tables import threshold_lines
from campaigns.domain.presentation.what_to_do import Place, Remedy
from campaigns.domain.units import count, counted, second_text
from campaigns.engine.queries.engine import waiting_reason
from campaigns.live.hub import Cursor, ended_run, points_so_far, report_of
from campaigns.machines.queries.machine_runs import MOST_SHOWN, machine_report, outputs_of_run
from campaigns.models import FailureExample, Run, Test
from campaigns.runs.queries.reports import report_between
from campaigns.runs.queries.runs import (
    Key,
    chart_plan,
    examples_of,
    happenings,
    planned_end,
    planned_of,
    programs_beside,
)

# As static/js/charts/time_axis.js writes it.
_RANGE = re.compile(r"(-?\d{1,9})\.\.(\d{1,9})")


def run_context(run: Run, actor: Actor, time: str = "") -> dict[str, Any]:
    """The page's context without the project's navigation and the user's rights. `time`: the range
    that its tables and percentiles are of, such as 600..900; of a run that has ended."""
    run.shows_machine = actor.sees_machines
    # Read the cursor first: later changes may be sent twice, but are never missed.
    cursor = Cursor(newest_event(run=run))
    end_facts = ended_run(run) if run.is_done else None
    points = end_facts.noted if end_facts else points_so_far(run.pk)
    plan, intent = run.frozen.plan, planned_of(run)
    report, words = end_facts.report if end_facts else report_of(run), ""
    if run.is_done and (time_range := _RANGE.fullmatch(time)):
        first, until = map(int, time_range.groups())
        if between := report_between(run, report, first, until):
            report, words = between, f"{second_text(first)} to {second_text(until)}"
    verdicts = () if report.has_no_answer else report.verdicts
    drawing = chart_plan(run) | {"limits": threshold_lines(plan.thresholds, verdicts)}
    if run.is_done and actor.share is None:
        drawing["details"] = reverse("run-points", args=[run.pk])
    programs = programs_beside([run], actor, run.campaign.project) if run.is_done else ()
    has_caveat = report.has_no_answer or any(mark != "info" for mark, _ in report.checks)
    sparks = sparks_of(points, drawing["wholeSeconds"])
    scheme = run.frozen.endpoint.scheme
    line = {"label": "this run", "scheme": scheme, "mode": "new", "curve": report.curve}
    # What a queued run waits for; names only what this actor may see.
    waiting = (
        ""
        if run.state != RunState.QUEUED
        else waiting_reason(run.campaign, actor) or "Waiting for earlier runs."
    )
    n_errors = 0 if report.errors.is_everything else sum(row.count for row in report.errors.rows)
    errors = [("errors", "Errors", count(n_errors))] if n_errors else []
    return {
        "run": run,
        "report": report,
        "range": words,
        "parts_bar": parts_bar(report.parts),
        "over_time": over_time_charts("Over time"),
        "percentiles": percentile_charts("percentiles", [line], "this run"),
        "requests": request_charts(report.requests, plan.nouns),
        "errors": errors_section(report.errors, examples_of(actor, run=run)),
        "is_live": not run.is_done,
        "origin": run.frozen.endpoint.place,
        "n_steps": len(plan.labels),
        "load_words": plan_load_words(plan),
        "planned": intent,
        "nouns": plan.nouns,
        "planned_end": planned_end(run),
        "has_points": bool(points),
        # An active run's stream sends its points, all of them to a new viewer.
        "points": end_facts and end_facts.columns,
        "tiles": [(tile, sparks.get(tile["key"])) for tile in report.tiles],
        "chart_plan": drawing,
        "machine": machine_report(run) if run.shows_machine else {},
        "outputs": outputs_of_run(run) if run.shows_machine else [],
        "blamed_programs": programs if has_caveat else (),
        "programs_table": programs_table(programs),
        "most_shown": MOST_SHOWN,
        "happened": happenings(run, points, shows_machines=run.shows_machine),
        "under_way": waiting or ("" if run.is_done else _under_way(run)),
        "waiting": waiting,
        "cursor": cursor,
        "tabs": [
            ("result", "Result", ""),
            *errors,
            ("machine", "Machine", ""),
            ("setup", "Setup", ""),
        ],
        **remedies_context(report.remedies, run.test),
    }


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
    intent, end = planned_of(run), planned_end(run)
    parts = [f"after {intent.warm_up_s} s of warm-up"] if intent.warm_up_s else []
    if end:
        parts.append(f"ends {localtime(end):%H:%M:%S}")
    elif intent.requests:
        parts.append(f"ends after {counted(intent.requests, run.frozen.plan.nouns)}")
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

    pk: int
    when: str
    request_line: str
    request_headers: str
    status_line: str
    reply: str
    note: str


def _example(example: FailureExample) -> ShownExample:
    request_line, _, headers = example.request.partition("\n")
    status_line, _, reply = example.reply.partition("\n")
    n_bytes = len(example.reply.partition("\n\n")[2].encode())
    whole = example.body_bytes or 0
    cut = f"Of {whole:,} bytes of the body the first are shown." if whole > n_bytes + 200 else ""
    return ShownExample(
        pk=example.pk,
        when=f"{example.at_us / 1e6:,.1f} s",
        request_line=request_line,
        request_headers=headers,
        status_line=status_line,
        reply=reply,
        note=" ".join(filter(None, (example.detail, cut))),
    )


def errors_section(
    errors: Errors, examples: Mapping[Key, list[FailureExample]] | None
) -> dict[str, Any]:
    """What parts/errors.html draws; examples only for those who may see them."""
    by_key = examples or {}
    return {
        "table": errors.table,
        "rows": [
            ErrorRow(
                row,
                _strip_of(failures, errors.length_s),
                [
                    _example(each)
                    for each in by_key.get(
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
    rows = list(remedies)
    return {
        "remedies": [
            (each, _address(each.place, test), _LABELS.get(each.place, "")) for each in rows
        ],
        "told": [each.text for each in rows],
    }


def worst_test(tests: Iterable[Test], answer: Answer) -> Test | None:
    """The first test that did as badly as the campaign."""
    worst = {each.test_id for each in answer.tests if each.target_state == answer.target_state}
    return next((test for test in tests if test.pk in worst), None)


def _address(place: str, test: Test | None) -> str:
    if place == Place.HOSTS:
        return reverse("injector-list")
    if not place or test is None:
        return ""
    # What is archived is neither edited nor sent anything; a campaign is repeated without it.
    item = test.plan_version.plan if place == Place.PLAN else test.endpoint.target
    if place != Place.AGAIN and item.archived_at is not None:
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
