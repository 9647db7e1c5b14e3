"""What histories keep of a test, read from its runs: figures, answers, and facts of its setting.
What is kept of a summary's total and of a test's pooled requests, so that pages read small rows and
decode no histogram; and where these come from where something else is asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform

from campaigns.domain.analysis import pair
from campaigns.domain.lifecycle import Outcome, TargetState, Trust, best_trust
from campaigns.domain.metrics.figures import (
    CURVE_PERCENTILES,
    MEASURED,
    QUIETER,
    SHOWN_PERCENTILES,
    RankedHistogram,
    brief_of,
    ranked,
    read_brief,
)
from campaigns.domain.metrics.histogram import Histogram, StoredHistogram
from campaigns.domain.metrics.injector_end import TlsHandshakes
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.percentiles import P50
from campaigns.domain.plan.target import Origin
from campaigns.domain.presentation.exchange_tables import EXCHANGE_PERCENTILES, EXCHANGE_TIMINGS
from campaigns.models import Run, RunSummary, Shard, Test

_STATES = list(TargetState)


class _RunRow(NamedTuple):
    """The columns of a run that are kept."""

    test_id: int
    outcome: str | None
    trust: str | None
    target_state: str | None
    n: int
    errors: int
    mean_us: float | None
    typical_us: float | None
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None
    lows_us: Mapping[str, float]

    @property
    def is_counted(self) -> bool:
        """As in a comparison: its measurement is usable, and its target was not overloaded."""
        is_usable = self.outcome == Outcome.COMPLETE and self.trust != Trust.NO_ANSWER
        is_sound = self.target_state in {None, TargetState.HEALTHY, TargetState.CHANGING}
        return self.n > 0 and is_usable and is_sound

    def value_us(self, metric: str) -> float | None:
        """None of a mean or tail that a busy machine spoilt."""
        is_spoilt = self.trust == Trust.BUSY and metric != "typical_us"
        return None if is_spoilt else getattr(self, metric)


def figures_of(tests: QuerySet[Test]) -> list[dict[str, Any]]:
    """The columns of `TestFigures` of each of the tests that has a summarised run."""
    runs = Run.objects.filter(test__in=tests, is_alone=False)
    facts = _facts(runs)
    rows: dict[int, list[_RunRow]] = {}
    for row in runs.filter(n__isnull=False).order_by("test_id", "repeat").values_list(*_COLUMNS):
        rows.setdefault(row[0], []).append(_RunRow(*row))
    tests_with_runs = tests.filter(pk__in=rows, campaign__started_at__isnull=False)
    return [
        {
            "test_id": test["pk"],
            **{column: test[path] for path, column in _OF_TEST.items()},
            **_figures_columns(rows[test["pk"]]),
        }
        | {"facts": facts.get(test["pk"], {})}
        for test in tests_with_runs.order_by("pk").values("pk", *_OF_TEST)
    ]


_COLUMNS = _RunRow._fields
_OF_TEST = {
    "campaign_id": "campaign_id",
    "campaign__project_id": "project_id",
    "campaign__started_at": "started_at",
    "plan_version__plan_id": "plan_id",
    "plan_version__number": "plan_number",
    "endpoint_id": "endpoint_id",
    "connection_mode": "connection_mode",
    "injectors": "injectors",
}


def _figures_columns(rows: Sequence[_RunRow]) -> dict[str, Any]:
    usable = [row for row in rows if row.is_counted]
    states = [row.target_state for row in rows if row.target_state]
    return {
        "n": sum(row.n for row in rows),
        "errors": sum(row.errors for row in rows),
        "trust": best_trust(row.trust for row in rows),
        "target_state": max(states, key=_STATES.index, default=""),
        **{
            metric: [us for row in usable if (us := row.value_us(metric)) is not None]
            for metric in ("mean_us", "typical_us", "p50_us", "p95_us", "p99_us")
        },
        "ends_us": _ends_us([row for row in usable if row.trust != Trust.BUSY] or usable),
    }


def _ends_us(rows: Sequence[_RunRow]) -> dict[str, tuple[float | None, float]]:
    """By metric the lower end, None where no run tells it, and as measured."""
    ends = {}
    for metric in MEASURED:
        bounds = [(row.lows_us, getattr(row, f"{metric}_us")) for row in rows]
        highs = [(lows_us.get(metric), us) for lows_us, us in bounds if us is not None]
        if highs:
            lows = [us if low is None else low for low, us in highs]
            has_low = any(low is not None for low, _ in highs)
            ends[metric] = (fmean(lows) if has_low else None, fmean(us for _, us in highs))
    return ends


def _facts(runs: QuerySet[Run]) -> dict[int, dict[str, str]]:
    """What may change from campaign to campaign, by test: as of its first complete run."""
    firsts = (
        runs.filter(outcome=Outcome.COMPLETE)
        .order_by("test_id", "position")
        .distinct("test_id")
        .values_list("pk", "test_id", *_keys("snapshot", "environment", "endpoint"))
    )
    rows = {pk: rest for pk, *rest in firsts}
    ends = Shard.objects.filter(run__in=rows).order_by("run_id", "number")
    shards: dict[int, list] = {}
    for run, *rest in ends.values_list(
        "run_id", "host", *_keys("end", "servers", "tls", "tls_library")
    ):
        shards.setdefault(run, []).append(rest)
    return {
        test: _facts_of(environment, endpoint, shards.get(pk, []))
        for pk, (test, environment, endpoint) in rows.items()
    }


def _keys(column: str, *names: str) -> list[KeyTransform]:
    """Only these keys of a JSON column: the whole of it is a plan or an end line."""
    return [KeyTransform(name, column) for name in names]


def _facts_of(
    environment: Iterable[Sequence[str]], endpoint: Mapping[str, Any], shards: Iterable[Any]
) -> dict[str, str]:
    origin = Origin.from_json(endpoint)
    hosts, servers, libraries, tls, keys = (set() for _ in range(5))
    for host, end, handshakes, library in shards:
        hosts.add(host)
        servers.add(", ".join(end or ()))
        libraries.add(library)
        handshakes_agreed = [TlsHandshakes.from_json(each) for each in handshakes or ()]
        tls |= {each.agreed for each in handshakes_agreed}
        keys |= {each.certificate for each in handshakes_agreed}
    facts = {
        "Endpoint": str(origin),
        "TLS options": ", ".join(origin.tls.words()),
        "Injector hosts": ", ".join(sorted(filter(None, hosts))),
        "Server": ", ".join(sorted(filter(None, servers))),
        "TLS": "; ".join(sorted(tls)),
        "Certificate": ", ".join(sorted(filter(None, keys))),
        "TLS library": ", ".join(sorted(filter(None, libraries))),
    }
    return {**dict(environment), **{name: words for name, words in facts.items() if words}}


# Of one run: in tables, files and comparisons.
_OF_A_RUN = {
    "response": {*SHOWN_PERCENTILES, *pair.PERCENTILES},
    **dict.fromkeys(EXCHANGE_TIMINGS, EXCHANGE_PERCENTILES),
}
# Of a test's runs together: in tables and as a curve, whether a difference is within lateness, and
# lower ends.
POOLED = {
    "response": {*SHOWN_PERCENTILES, *CURVE_PERCENTILES},
    **dict.fromkeys(EXCHANGE_TIMINGS, EXCHANGE_PERCENTILES),
    "lateness": {P50},
    QUIETER: SHOWN_PERCENTILES,
}


def brief_total(total: Total) -> dict[str, Any]:
    """The column `figures` of a summary with this total."""
    return brief_of(total, lambda name: _OF_A_RUN.get(name, SHOWN_PERCENTILES), SHOWN_PERCENTILES)


def in_brief(summaries: QuerySet[RunSummary]) -> QuerySet[RunSummary]:
    """Without what is large."""
    return summaries.defer("histograms", "chunks", "steps")


class BriefTotals:
    """The totals of many summaries. Where more is asked of a timing than is kept in brief, its
    histograms are read: by one statement for all of the summaries."""

    def __init__(self) -> None:
        self._summaries: list[int] = []
        self._histograms: dict[str, dict[int, str]] = {}

    def of(self, summary: RunSummary) -> Total:
        """Of a row of `in_brief`."""
        self._summaries.append(summary.pk)
        return read_brief(summary.figures, lambda name: self._histogram(summary.pk, name))

    def _histogram(self, summary: int, name: str) -> Histogram:
        histograms = self._histograms.setdefault(name, {})
        if summary not in histograms:
            unread = [pk for pk in self._summaries if pk not in histograms]
            rows = RunSummary.objects.filter(pk__in=unread)
            histograms |= rows.values_list("pk", KeyTextTransform(name, "histograms"))
        return StoredHistogram(histograms[summary])


def known_of(total: Total) -> dict[str, Any]:
    """By timing its ranks, and the values at them, of tests whose counted runs have this total."""
    return {name: ranked(timing, POOLED[name]) for name, timing in total.timings.items()}


def with_known(total: Total, values: Mapping[str, Any]) -> Total:
    """The total with what was kept of its timings. For more, the runs' histograms are added up."""
    ranked_ones = {
        name: _with_ranked(timing, *values[name]) for name, timing in total.timings.items()
    }
    return replace(total, timings=total.timings | ranked_ones)


def _with_ranked(timing: Timing, ranks: Iterable[int], values_us: Iterable[float]) -> Timing:
    by_rank = dict(zip(ranks, values_us, strict=True))
    return replace(timing, histogram=RankedHistogram(by_rank, lambda: timing.histogram))
