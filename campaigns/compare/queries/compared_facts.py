"""Two sides of a comparison as they were set up: what differs, what that forbids, what is alike.
One compared test in detail: its figures on both sides, every run, the percentile plot."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from campaigns.compare.queries.arm_pairs import ArmPair, MeasuredTest
from campaigns.compare.queries.columns import ComparisonSide, Side
from campaigns.compare.queries.overheads import Overhead, compare, unlike_by_accident
from campaigns.domain.analysis.changes import CampaignNoise, campaign_noise
from campaigns.domain.analysis.histories import mean_of
from campaigns.domain.analysis.likeness import partners
from campaigns.domain.analysis.messages import MESSAGES
from campaigns.domain.analysis.pair import Blocker, PairResult, Reason, shift_of
from campaigns.domain.analysis.ratio import smallest_shown
from campaigns.domain.metrics.figures import Figures, curve
from campaigns.domain.metrics.injector_end import tls_libraries_of
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.step import BODIES
from campaigns.domain.presentation.compared import (
    ComparedDetail,
    ComparedTest,
    Difference,
    ReferenceState,
    RunDot,
)
from campaigns.domain.presentation.exchange_tables import exchange_figures
from campaigns.domain.presentation.latency_table import figures_by_key, latency_table
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.overhead_table import overhead_table
from campaigns.domain.presentation.plan_words import changed_fields, field_name
from campaigns.domain.presentation.tables import Figure, Row, Table, count_cell, figure_cell
from campaigns.domain.units import decimals_for, rate, said_of
from campaigns.history.models import HistoryKey
from campaigns.models import Test, TestFigures
from campaigns.runs.queries.measurements import MeasuredRun

# Campaigns that tell how campaigns differ: at most so many, of so long before.
_MOST_EARLIER, _EARLIER = 30, timedelta(days=90)
# Parts of a plan that change neither what is sent nor how hard.
_HARMLESS = ("plan.thresholds", "plan.warm_up_s", "plan.load.duration_s", "plan.load.max_in_flight")


@dataclass(frozen=True)
class ComparedPair(ArmPair):
    """A test and its partner, with their columns. `is_found`: by plan and arm, not by choice."""

    columns: Sequence[ComparisonSide] = ()
    is_found: bool = True

    @property
    def label(self) -> str:
        return f"{self.candidate.plan_label}: {self.candidate.label}"

    @property
    def letter(self) -> str:
        return self.columns[1].letter

    @property
    def is_of_reference(self) -> bool:
        return all(each.test.is_of_reference for each in self)

    @cached_property
    def changes(self) -> dict[str, tuple[str, str]]:
        """The settings that differ, by path; {} while one of the two has no run."""
        runs = [next(iter([*each.counted, *each.runs]), None) for each in self]
        return {} if None in runs else changed_fields(*(_facts_of(each) for each in runs))

    @property
    def blockers(self) -> list[Blocker]:
        """What the two plans ask differently, so that there can be no word."""
        paths = [path for path in self.changes if _forbids(path)]
        loads = [path for path in paths if path.startswith("plan.load.")]
        if loads:
            reason, what = Reason.UNLIKE_LOAD, "The plans ask for different loads"
        elif paths and self.is_found:
            reason, what = Reason.NOT_LIKE_FOR_LIKE, "The plans send different requests"
        else:
            return []
        names = ", ".join(dict.fromkeys(map(field_name, loads or paths)))
        return [(reason, f"{what}: {names}.")]


def compared_pair(baseline: Side, candidate: Side) -> ComparedTest:
    """Two columns of a test each, with its verdict."""
    (pair,) = pairs_between(baseline, candidate)
    return judged_pair(pair)[0]


def noise_between(pairs: Iterable[tuple[Test, Test]]) -> dict[tuple[int, int], CampaignNoise]:
    """By the numbers of two tests of different campaigns, how campaigns of the candidate's test
    before the later of the two differed by themselves; of those that have enough. One query."""
    begins: dict[tuple[int, int], tuple[HistoryKey, datetime]] = {}
    for first, second in pairs:
        starts = [each.campaign.started_at for each in (first, second)]
        if first.campaign_id != second.campaign_id and all(starts):
            begins[first.pk, second.pk] = HistoryKey.of(second), max(starts)
    if not begins:
        return {}
    keys, later = zip(*begins.values(), strict=True)
    rows = TestFigures.objects.outside_trash().filter(
        plan__in={key.plan for key in keys},
        endpoint__in={key.endpoint for key in keys},
        started_at__range=(min(later) - _EARLIER, max(later)),
    )
    columns = ("started_at", "typical_us", *HistoryKey._fields)
    earlier: dict[HistoryKey, list[tuple[datetime, float | None]]] = {}
    for at, typical_us, *key in rows.order_by("started_at", "pk").values_list(*columns):
        earlier.setdefault(HistoryKey(*key), []).append((at, mean_of(typical_us)))
    noises: dict[tuple[int, int], CampaignNoise] = {}
    for numbers, (key, start) in begins.items():
        values = [us for at, us in earlier.get(key, ()) if at < start]
        if noise := campaign_noise(tuple(values[-_MOST_EARLIER:])):
            noises[numbers] = noise
    return noises


def pairs_between(baseline: Side, candidate: Side) -> Iterator[ComparedPair]:
    columns = (baseline.column, candidate.column)
    is_chosen = all(column.is_single for column in columns)
    if not (baseline.tests and candidate.tests):
        return
    pairs = [(0, 0)] if is_chosen else partners(baseline.keys, candidate.keys)
    names = tuple(column.name for column in columns)
    for first, second in pairs:
        yield ComparedPair(
            baseline.tests[first],
            candidate.tests[second],
            is_chosen=True,
            called=names,
            columns=columns,
            is_found=not is_chosen,
        )


def judged_pair(
    pair: ComparedPair, reference: ReferenceState | None = None
) -> tuple[ComparedTest, Overhead]:
    """`reference`: what the installation's own target did between the two sides."""
    baseline, candidate = pair
    overhead = compare(candidate.test.campaign, pair)
    is_sound = all(each.is_sound for each in pair)
    row, metric = overhead.judged, overhead.judged.metric
    interval = row.interval if is_sound else None
    remedy = MESSAGES[row.reason].remedy if row.reason else ""
    why = f"{row.text} {remedy}".strip()
    if pair.columns[1].noun == "run" and row.reason is Reason.TOO_FEW_REPEATS:
        why = "A single run has no spread. Compare the tests of these runs."
    test = ComparedTest(
        column=pair.letter,
        baseline_test_id=baseline.test.pk,
        candidate_test_id=candidate.test.pk,
        plan_label=candidate.plan_label,
        arm_label=candidate.label,
        scheme=candidate.scheme,
        row=row,
        is_sound=is_sound,
        word=overhead.word,
        why=why,
        ran_in_turn=_ran_in_turn(pair),
        reference=reference,
        could_have_shown=smallest_shown(interval) if interval else None,
        runs=tuple(
            tuple(RunDot(each.run.label, each.figures.time_us(metric)) for each in side)
            for side in overhead.sides
        ),
    )
    return test, overhead


def _ran_in_turn(pair: ArmPair) -> bool:
    """Whether the runs of both alternated; those of one campaign that did not have no word."""
    if pair.is_of_one_campaign:
        return True
    first, second = ([each.run.t0 for each in arm.counted] for arm in pair)
    if None in (*first, *second) or not first or not second:
        return False
    return max(first) > min(second) and max(second) > min(first)


def _facts_of(each: MeasuredRun) -> dict:
    """The run's settings and what its injectors said of the setting that they found."""
    ends = each.measurement.ends if each.measurement else []
    # All that may differ between two runs beside their results, secrets as digests.
    frozen = each.run.frozen
    # The plan; bodies, headers and tables, which may be secret or long, as size and digest.
    elsewhere = {"headers", *BODIES}
    steps = [
        {name: _told_apart(value) if name in elsewhere else value for name, value in step.items()}
        for step in frozen.plan_json["steps"]
    ]
    exchange = frozen.plan_json.get("exchange")
    if exchange:
        exchange = {**exchange, "headers": _told_apart(exchange["headers"])}
    variables = frozen.plan_json.get("variables")
    if variables:
        variables = {**variables, "csv": _told_apart(variables["csv"])}
    apart = {"steps": steps, "exchange": exchange, "variables": variables}
    return {
        "target": frozen.target,
        "plan name": frozen.plan_label,
        "connection mode": str(frozen.connection_mode),
        "injector processes": each.run.n_shards,
        "endpoint": frozen.endpoint.to_json(),
        "environment": dict(frozen.environment),
        "plan": {**frozen.plan_json, **apart, "connection_mode": None},
        "TLS agreed": sorted({tls.agreed for end in ends for tls in end.tls}),
        "Certificate": sorted({tls.certificate for end in ends for tls in end.tls} - {None}),
        "TLS library": tls_libraries_of(ends),
        "server names": sorted({name for end in ends for name in end.servers or ()}),
    }


def _forbids(path: str) -> bool:
    """Whether a plan with another value there asks something else of the target."""
    return (
        path.startswith("plan.") and not path.startswith(_HARMLESS) and not path.endswith(".label")
    )


def differences_of(
    pairs: Sequence[ComparedPair], overheads: Sequence[Overhead]
) -> list[Difference]:
    """What differs, each fact once with the tests that it concerns; what forbids a word first."""
    by_change: dict[tuple[str, str, str, str, bool], list[str]] = {}
    for pair, overhead in zip(pairs, overheads, strict=True):
        for path, (one, other) in pair.changes.items():
            forbids = _forbids(path) and (pair.is_found or path.startswith("plan.load."))
            key = (field_name(path), pair.letter, one, other, forbids)
            by_change.setdefault(key, []).append(pair.label)
        for name, one, other in overhead.likeness["different"]:
            if name in _MEASURED:
                forbids = name in unlike_by_accident(pair, overhead.likeness)
                key = (_MEASURED[name], pair.letter, one, other, forbids)
                by_change.setdefault(key, []).append(pair.label)
    n_tests = {pair.letter: sum(p.letter == pair.letter for p in pairs) for pair in pairs}
    rows = [
        Difference(
            name,
            letter,
            one,
            other,
            () if len(labels) == n_tests[letter] else tuple(labels),
            forbids,
        )
        for (name, letter, one, other, forbids), labels in by_change.items()
    ]
    return sorted(rows, key=lambda each: not each.forbids)


# Measured facts of domain.analysis.likeness, as they are called here; the settings have the others.
_MEASURED = {
    "host": "Address reached",
    "injector hosts": "Injector hosts",
    "reply": "Bytes per reply",
    "status": "Statuses",
    "requests a run": "Requests per run",
}


_SAME = ("plan", "target", "host", "injector hosts", "reply", "status")


def same_of(pairs: Sequence[ComparedPair], overheads: Sequence[Overhead]) -> list[tuple[str, str]]:
    """What all tests have alike on both sides: (name, value), and the load that they reached."""
    alike = [dict(each.likeness["same"] + each.likeness["equal"]) for each in overheads]
    facts = [
        (name, ", ".join(dict.fromkeys(each[name] for each in alike)))
        for name in _SAME
        if alike and all(name in each for each in alike)
    ]
    rates = ([_rate(each) for each in pair] for pair in pairs)
    loads = dict.fromkeys(f"{' and '.join(each)}/s" for each in rates if all(each))
    return [*facts, *([("requests sent", ", ".join(loads))] if loads else [])]


def _rate(test: MeasuredTest) -> str:
    measurements: list[Measurement] = [each.measurement for each in test.counted]
    rates = [each.sent_per_s for each in measurements if each.sent_per_s is not None]
    return rate(sum(rates) / len(rates)) if rates else ""


def _told_apart(value: Any) -> str:
    if not value:
        return ""
    text = json.dumps(value)
    return f"{len(text):,} characters, #{hashlib.sha256(text.encode()).hexdigest()[:8]}"


_COUNTS = ("rate", "errors", "n")
_NO_RATIO = "The baseline is 0, so there is no ratio."
_RATIO_DECIMALS = 3


def detail_of(test: ComparedTest, overhead: Overhead) -> ComparedDetail:
    """The figures behind one row of a comparison."""
    arms, names = tuple(overhead.pair), overhead.pair.names
    pools, shift = [arm.pooled for arm in arms], {}
    if test.is_sound:
        repeats = [[each.run.repeat for each in arm.counted] for arm in arms]
        timings = [[each.total.timing("response") for each in arm.counted] for arm in arms]
        shift = shift_of(*timings, paired=overhead.is_paired and repeats[0] == repeats[1])
    return ComparedDetail(
        test=test,
        # All figures of the response time; the word as the comparison has it.
        times=overhead_table("times", "Response times", overhead.rows, test.said, test.why, names),
        counts=_counts_table(names, pools, arms[1].noun),
        repeats=tuple(
            latency_table(
                f"runs-{letter}",
                f"Every run, {name}",
                [each.line(is_counted=each in arm.counted) for each in arm.runs],
                figures,
                is_sound=arm.is_sound,
                noun=arm.noun,
                flows=arm.flows,
            )
            for letter, name, arm, (_, figures) in zip("ab", names, arms, pools, strict=True)
        ),
        split=overhead.split(names),
        noun=arms[1].noun,
        lines=[
            {
                "label": name,
                "scheme": arm.scheme,
                "mode": arm.test.connection_mode,
                "curve": curve(total.timing("response")),
            }
            for name, arm, (total, _) in zip(names, arms, pools, strict=True)
        ],
        shift=shift,
    )


def _counts_table(
    names: tuple[str, str], pools: Sequence[tuple[Total, Figures | None]], noun: str
) -> Table:
    """Rate, errors and number of requests; of WebSocket tests also handshakes and messages."""
    totals = [_figures(*each) for each in pools]
    labels = dict.fromkeys(label for figures in totals for label in figures)
    rows = [
        _row(label, *(figures.get(label, Figure(None, _ABSENT)) for figures in totals), noun)
        for label in labels
    ]
    return Table(
        "counts",
        "Rate and counts",
        (
            METRICS["baseline"].column(title=names[0]),
            METRICS["candidate"].column(title=names[1]),
            METRICS["difference"].column(unit=""),
            METRICS["ratio"].column(),
        ),
        tuple(rows),
        label_title="metric",
        note="over all runs that count",
    )


_ABSENT = "This side has no such figure."


def _figures(total: Total, figures: Figures | None) -> dict[str, Figure]:
    if figures is None:
        return dict.fromkeys(_COUNTS, Figure(None, "No run of this side counts."))
    of_requests = figures_by_key(figures)
    return {key: of_requests[key] for key in _COUNTS} | exchange_figures(total, figures.duration_s)


def _row(key: str, baseline: Figure, candidate: Figure, noun: str) -> Row:
    metric = METRICS.get(key)
    words = (metric.title, metric.unit) if metric else (key,)
    label = said_of(noun, ", ".join(filter(None, words)))
    is_count = key in {"errors", "n"}
    decimals = 0 if is_count else decimals_for([baseline.value, candidate.value])
    row, why = PairResult(key, baseline.value, candidate.value), baseline.why or candidate.why
    cells = (
        count_cell(None if each.value is None else int(each.value), each.why)
        if is_count
        else figure_cell(each, decimals)
        for each in (baseline, candidate)
    )
    return Row(
        label,
        (
            *cells,
            figure_cell(Figure(row.difference, why), decimals, signed=True),
            figure_cell(Figure(row.ratio, why or _NO_RATIO), _RATIO_DECIMALS),
        ),
        key,
    )
