"""What came of a campaign, as programs read it: the `verdict` of REST, whose fields stay."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.analysis.ratio import Word
from campaigns.domain.presentation.intervals import difference_words
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.results import OverheadAnswer
from campaigns.domain.presentation.tables import Row, Table

# What decides over several comparisons; "" has no verdict.
_WORST_FIRST = (
    *(Word.SLOWER, "", Word.OPEN, Word.NOT_FASTER, Word.NOT_SLOWER, Word.SAME, Word.FASTER),
)


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """`ratio` is the candidate over the baseline, with its interval."""

    metric: str
    baseline_ms: float
    candidate_ms: float
    ratio: float
    low: float
    high: float

    @property
    def title(self) -> str:
        return METRICS[self.metric].title


@dataclass(frozen=True, slots=True)
class ComparedArms:
    """`label`: of the candidate's test. `baseline`: the name of a stored one, "" of two tests of
    the campaign, whose `names` are those of baseline and candidate. `bound`: the ends of the
    interval in words. `metrics`: the one that `word` is of first; [] where there is no word, or
    only its direction is known."""

    label: str
    names: tuple[str, str]
    baseline: str
    baseline_test: int
    candidate_test: int
    word: str
    why: str
    said: str
    bound: str
    confidence: float
    metrics: Sequence[ComparedMetric]

    @property
    def judged(self) -> ComparedMetric | None:
        return self.metrics[0] if self.metrics else None

    @classmethod
    def of(cls, answer: OverheadAnswer, label: str, baseline: str = "") -> "ComparedArms":
        has_size = answer.word and answer.has_size
        metrics = [each for row in answer.table.rows if (each := _metric(row))] if has_size else []
        change, bound = answer.word, ""
        if metrics:
            (ends,) = [(each.ratio, each.low, each.high) for each in metrics[:1]]
            change, bound = difference_words(Word(answer.word), *ends, at_least=answer.at_least)
        return cls(
            label,
            answer.names,
            baseline,
            answer.baseline_test_id,
            answer.candidate_test_id,
            answer.word,
            answer.word_reason,
            change,
            bound,
            answer.confidence,
            metrics,
        )


def _metric(row: Row) -> ComparedMetric | None:
    """Of a row of `overhead_table`; None without an interval."""
    baseline, candidate, _, ratio, low, high = (cell.value for cell in row.cells[:6])
    if None in (baseline, candidate, ratio, low, high):
        return None
    return ComparedMetric(row.kind, baseline, candidate, ratio, low, high)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """`rule` with its test; `kept`: 1 of 3 runs; `worst`: 312 ms."""

    rule: str
    kept: str
    worst: str
    limit: str


def broken_rules(thresholds: Table) -> list[BrokenRule]:
    """Those of `campaign_thresholds_table`."""
    rows = [(row.label, [cell.text for cell in row.cells]) for row in thresholds.rows]
    return [BrokenRule(rule, *cells) for rule, (*cells, result) in rows if result in _BROKEN]


_BROKEN = {"broken", "not measured"}


@dataclass(frozen=True, slots=True)
class CampaignVerdict:
    """`is_measured`: else `why` says why there are no figures. `comparisons`: with baselines where
    tests have one, else of the campaign's tests, the worst first."""

    is_measured: bool
    why: str
    sentence: str
    comparisons: Sequence[ComparedArms] = ()
    broken_rules: Sequence[BrokenRule] = ()
    n_failed: int = 0
    n_requests: int = 0

    @property
    def worst(self) -> ComparedArms | None:
        return self.comparisons[0] if self.comparisons else None

    @property
    def failed_share(self) -> float | None:
        return self.n_failed / self.n_requests if self.n_requests else None


def worst_first(comparisons: Sequence[ComparedArms]) -> list[ComparedArms]:
    """Of the same word the one that is surely slower by more."""
    return sorted(
        comparisons,
        key=lambda each: (_WORST_FIRST.index(each.word), -each.judged.low if each.judged else 0),
    )
