"""HTTPS against HTTP within a campaign: which tests are compared, and what blocks a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.judged.comparison import FLOOR_US, ComparisonVerdict, Reason, Word, verdict
from campaigns.domain.judged.likeness import like_for_like
from campaigns.domain.judged.overhead import (
    OverheadRow,
    jumps_us,
    overhead_rows,
    part_means_us,
)
from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.measured.achieved import unlike
from campaigns.domain.percentiles import P50
from campaigns.domain.plan.target import TLS_TWINS, WEBSOCKET_SCHEMES
from campaigns.domain.shown.overhead_table import (
    forest,
    overhead_table,
    split_answer,
    time_decimals,
)
from campaigns.domain.shown.results import OverheadAnswer
from campaigns.domain.units import percent
from campaigns.models import Campaign, Test
from campaigns.queries.measured import MeasuredRun, counted_runs, pooled_of

_MAX_ERROR_SHARE = 0.01
_MAX_ERROR_DIFFERENCE = 0.005
_BUCKET = 2.0**-10


@dataclass(frozen=True, slots=True)
class MeasuredTest:
    """A test with its runs, in order of the repeats."""

    test: Test
    label: str
    plan_label: str
    runs: tuple[MeasuredRun, ...]

    @property
    def counted(self) -> list[MeasuredRun]:
        """The runs that its figures cover; doubtful ones if it has no usable run."""
        return counted_runs(self.runs)

    @property
    def n_usable(self) -> int:
        return sum(each.is_usable for each in self.runs)

    @property
    def is_sound(self) -> bool:
        """Whether its figures can be trusted; true while there are none."""
        return bool(self.n_usable) or not self.counted

    @property
    def scheme(self) -> str:
        return self.test.endpoint.scheme

    @property
    def noun(self) -> str:
        """What is counted: a WebSocket attempt is a connection, opened and closed."""
        return "connections" if self.scheme in WEBSOCKET_SCHEMES else "requests"


@dataclass(frozen=True, slots=True)
class Overhead:
    """One pair with its rows and verdict, before rendering."""

    http: MeasuredTest
    https: MeasuredTest
    rows: list[OverheadRow]
    verdict: ComparisonVerdict
    is_paired: bool
    has_word: bool
    likeness: dict[str, list[list[str]]]

    @property
    def mean(self) -> OverheadRow:
        return self.rows[0]

    @property
    def names(self) -> tuple[str, str]:
        return self.http.scheme.upper(), self.https.scheme.upper()


def find_pairs(arms: Sequence[MeasuredTest]) -> list[tuple[MeasuredTest, MeasuredTest]]:
    """Each HTTPS (or wss) test with the HTTP (or ws) test of the same plan and mode.

    A test of the same target is preferred; one of another target is used only if it is the only
    candidate, and the comparison then says so. A resumed session has no HTTP counterpart: it is
    compared with HTTP on a new connection.
    """
    pairs = []
    for https in arms:
        if plain := TLS_TWINS.get(https.scheme):
            http = _partner(https, [arm for arm in arms if arm.scheme == plain])
            pairs += [(http, https)] if http else []
    return pairs


def _partner(https: MeasuredTest, candidates: Sequence[MeasuredTest]) -> MeasuredTest | None:
    mode = https.test.connection_mode
    for wanted in (mode, "new") if mode == "resumed" else (mode,):
        fitting = [
            arm
            for arm in candidates
            if arm.test.plan_version_id == https.test.plan_version_id
            and arm.test.injectors == https.test.injectors
            and arm.test.connection_mode == wanted
        ]
        twins = [
            arm for arm in fitting if arm.test.endpoint.target_id == https.test.endpoint.target_id
        ]
        if twins or len(fitting) == 1:
            return (twins or fitting)[0]
    return None


def compare(campaign: Campaign, http: MeasuredTest, https: MeasuredTest) -> Overhead:
    """The overhead of one pair with its verdict."""
    is_paired = campaign.order == Campaign.Order.BLOCKS and _have_whole_blocks(http, https)
    rows = overhead_rows(
        [each.figures for each in http.counted],
        [each.figures for each in https.counted],
        paired=is_paired,
        repeats=(_repeats(http), _repeats(https)),
        jumps=jumps_us([each.total for each in (*http.counted, *https.counted)]),
    )
    likeness = like_for_like(*([each.of_arm for each in arm.counted] for arm in (http, https)))
    return Overhead(
        http,
        https,
        rows,
        _verdict(campaign, http, https, rows[0], likeness),
        is_paired,
        min(http.n_usable, https.n_usable) >= MIN_REPEATS,
        likeness,
    )


def _repeats(arm: MeasuredTest) -> list[int]:
    return [each.run.repeat for each in arm.counted]


def _have_whole_blocks(http: MeasuredTest, https: MeasuredTest) -> bool:
    """Whether both arms have the same blocks, or enough of them for a verdict."""
    ours, theirs = set(_repeats(http)), set(_repeats(https))
    return ours == theirs or len(ours & theirs) >= MIN_REPEATS


def _verdict(
    campaign: Campaign, http: MeasuredTest, https: MeasuredTest, mean: OverheadRow, likeness
) -> ComparisonVerdict:
    spoilt = [each for arm in (http, https) for each in arm.runs if _is_spoilt(each)]
    if spoilt and min(http.n_usable, https.n_usable) < MIN_REPEATS:
        runs = "1 finished run" if len(spoilt) == 1 else f"{len(spoilt)} finished runs"
        text = f"{runs} cannot be used. {spoilt[0].why_unusable}"
        return ComparisonVerdict(Word.INCONCLUSIVE, Reason.INVALID_RUNS, text)
    return verdict(
        mean.interval,
        campaign.practical_threshold,
        floor=_floor_us(http, https, mean),
        blockers=_blockers(http, https, likeness),
        names=(http.scheme.upper(), https.scheme.upper()),
    )


def _is_spoilt(each: MeasuredRun) -> bool:
    return each.run.is_done and not each.is_usable


def _floor_us(http: MeasuredTest, https: MeasuredTest, mean: OverheadRow) -> float:
    """The smallest difference, µs, that this measurement can resolve."""
    lateness = [
        pooled_of(arm.runs)[0].timing("lateness").percentile_us(P50) for arm in (http, https)
    ]
    return max(FLOOR_US, _BUCKET * (mean.https_us or 0.0), *(each or 0.0 for each in lateness))


def _blockers(http: MeasuredTest, https: MeasuredTest, likeness) -> list[tuple[Reason, str]]:
    found = []
    errors = [pooled_of(arm.runs)[1].error_share or 0.0 for arm in (http, https) if arm.counted]
    if errors and _too_many_errors(errors):
        shares = " and ".join(percent(share) for share in errors)
        found.append((Reason.ERRORS, f"Too many requests failed ({shares}) to compare times."))
    if likeness["different"]:
        names = ", ".join(row[0] for row in likeness["different"])
        found.append(
            (Reason.NOT_LIKE_FOR_LIKE, f"The two are not set up alike. They differ in: {names}.")
        )
    if unlike_loads := _unlike_loads(http, https):
        found.append((Reason.UNLIKE_LOAD, unlike_loads))
    if _one_after_the_other(http, https):
        found.append(
            (
                Reason.ORDER_CONFOUNDED,
                "All runs of one came before those of the other, so the difference includes "
                "whatever changed in between. Repeat them in counterbalanced blocks.",
            )
        )
    return found


def _too_many_errors(shares: Sequence[float]) -> bool:
    return max(shares) > _MAX_ERROR_SHARE or max(shares) - min(shares) > _MAX_ERROR_DIFFERENCE


def _unlike_loads(http: MeasuredTest, https: MeasuredTest) -> str:
    runs = (*http.counted, *https.counted)
    if not runs:
        return ""
    plan = runs[0].measurement.plan
    return unlike(plan, *([each.measurement for each in arm.counted] for arm in (http, https)))


def _one_after_the_other(http: MeasuredTest, https: MeasuredTest) -> bool:
    first, second = ([each.run.position for each in arm.counted] for arm in (http, https))
    if min(len(first), len(second)) < MIN_REPEATS:
        return False
    return max(first) < min(second) or max(second) < min(first)


def overhead_answer(overhead: Overhead, *, is_final: bool) -> OverheadAnswer:
    """The pair as pages render it. A running campaign gets no verdict before its third repeat."""
    http, https, found = overhead.http, overhead.https, overhead.verdict
    word = found.word if overhead.has_word or is_final else None
    return OverheadAnswer(
        plan_label=https.plan_label,
        connection_mode=https.test.connection_mode,
        http_test_id=http.test.pk,
        https_test_id=https.test.pk,
        table=overhead_table(
            f"overhead-{http.test.pk}-{https.test.pk}",
            f"{https.plan_label}: {https.label} against {http.label}",
            overhead.rows,
            word,
            found.text,
            overhead.names,
        ),
        forest=forest(overhead.rows, word),
        split=split_answer(
            [
                (arm.label, arm.scheme, part_means_us([each.total for each in arm.counted]))
                for arm in (http, https)
            ],
            time_decimals(overhead.rows),
        ),
        word=str(word or ""),
        word_reason=found.text,
        like_for_like=overhead.likeness,
        names=overhead.names,
    )
