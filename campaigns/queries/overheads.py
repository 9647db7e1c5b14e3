"""One test of a campaign against another: which are compared, and what blocks a verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from campaigns.domain.errors import InvalidFields
from campaigns.domain.judged.comparison import FLOOR_US, ComparisonVerdict, Reason, Word, verdict
from campaigns.domain.judged.likeness import like_for_like
from campaigns.domain.judged.overhead import (
    OverheadRow,
    jumps_us,
    mean_row,
    overhead_rows,
    part_means_us,
)
from campaigns.domain.judged.ratio import OddRun
from campaigns.domain.judged.repeats import MIN_REPEATS
from campaigns.domain.measured.achieved import unlike
from campaigns.domain.measured.figures import Figures
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.percentiles import P50
from campaigns.domain.plan.target import TLS_TWINS, counted_in
from campaigns.domain.shown.arm_names import ArmFacts, arm_names, shared_mode
from campaigns.domain.shown.overhead_table import (
    forest,
    overhead_table,
    split_answer,
)
from campaigns.domain.shown.results import FlaggedRun, OverheadAnswer
from campaigns.domain.shown.sentences import MODES
from campaigns.domain.units import percent
from campaigns.models import Campaign, Test
from campaigns.queries.measured import MeasuredRun, counted_runs, pooled_of

_MAX_ERROR_SHARE = 0.01
_MAX_ERROR_DIFFERENCE = 0.005
_BUCKET = 2.0**-10
_NO_TEST = "Choose a test of this campaign."
# A user who compares two targets or plans knows that these differ, and so does what follows.
_DIFFERS_BY_CHOICE = {"target", "host", "plan", "reply", "requests a run"}

Blocker = tuple[Reason, str]  # why there can be no verdict, and its sentence


@dataclass(frozen=True)
class MeasuredTest:
    """A test with its runs, in order of the repeats. `is_of_days`: its runs are from several
    campaigns, of which `test` is in the newest."""

    test: Test
    label: str
    plan_label: str
    runs: tuple[MeasuredRun, ...]
    is_of_days: bool = False

    @cached_property
    def counted(self) -> list[MeasuredRun]:
        """The runs that its figures cover; those of an overloaded target if it has no others."""
        return counted_runs(self.runs)

    @cached_property
    def pooled(self) -> tuple[Total, Figures | None]:
        """All requests of these runs merged."""
        return pooled_of(self.runs)

    @property
    def n_usable(self) -> int:
        return sum(each.is_usable for each in self.runs)

    @property
    def is_sound(self) -> bool:
        """Whether its figures are of response times, not of overload; true while there are none."""
        return bool(self.n_usable) or not self.counted

    @property
    def scheme(self) -> str:
        return self.test.endpoint.scheme

    @property
    def facts(self) -> ArmFacts:
        test = self.test
        return ArmFacts(
            self.plan_label,
            test.endpoint.target.name,
            test.endpoint.scheme,
            test.endpoint.host,
            test.endpoint.port,
            test.connection_mode,
            test.injectors,
        )

    @property
    def noun(self) -> str:
        """What is counted: a WebSocket attempt is a connection, opened and closed."""
        return counted_in([self.scheme])


@dataclass(frozen=True)
class ArmPair:
    """Two tests to compare. `is_chosen`: by a user, so that what tells them apart may differ.

    `called`: names of the two where those of their arms would be the same. `place`: the target,
    where a campaign has several.
    """

    baseline: MeasuredTest
    candidate: MeasuredTest
    is_chosen: bool = False
    called: tuple[str, str] | None = None
    place: str = ""

    def __iter__(self) -> Iterator[MeasuredTest]:
        return iter((self.baseline, self.candidate))

    @cached_property
    def names(self) -> tuple[str, str]:
        return self.called or arm_names(self.baseline.facts, self.candidate.facts)

    @property
    def is_of_one_campaign(self) -> bool:
        if any(each.is_of_days for each in self):
            return False
        return self.baseline.test.campaign_id == self.candidate.test.campaign_id

    @property
    def shared_mode(self) -> str:
        return shared_mode(self.baseline.facts, self.candidate.facts)

    @property
    def title(self) -> str:
        if self.is_chosen or not self.shared_mode:
            return " against ".join(reversed(self.names))
        return ", ".join(filter(None, [MODES[self.shared_mode].capitalize(), self.place]))

    @property
    def n_usable(self) -> int:
        """The usable runs of the arm that has fewer."""
        return min(each.n_usable for each in self)

    @property
    def counted(self) -> list[MeasuredRun]:
        return [run for arm in self for run in arm.counted]


@dataclass(frozen=True, slots=True)
class Overhead:
    """What the candidate takes more than the baseline, with its verdict, before rendering."""

    pair: ArmPair
    rows: list[OverheadRow]
    verdict: ComparisonVerdict
    is_paired: bool
    has_word: bool
    likeness: dict[str, list[list[str]]]
    judged: OverheadRow  # on which the verdict is

    @property
    def mean(self) -> OverheadRow:
        return self.rows[0]


def pairs_of(arms: Sequence[MeasuredTest], chosen: tuple[int, int] | None) -> list[ArmPair]:
    """The pair that was chosen (candidate, baseline: ids of tests), else all pairs of TLS twins."""
    if chosen is None:
        return twins_of(arms)
    by_test = {arm.test.pk: arm for arm in arms}
    candidate, baseline = (by_test[pk] for pk in chosen)
    return [ArmPair(baseline, candidate, is_chosen=True)]


def chosen_tests(campaign: Campaign, asked: Mapping[str, str]) -> tuple[int, int] | None:
    """The tests of `?compare=CANDIDATE&with=BASELINE`; None where neither is given.

    Raises InvalidFields for anything but two different tests of this campaign.
    """
    given = {name: asked.get(name, "") for name in ("compare", "with")}
    if not any(given.values()):
        return None
    tests = {str(pk) for pk in campaign.tests.values_list("pk", flat=True)}
    faults = {name: _NO_TEST for name, value in given.items() if value not in tests}
    if not faults and given["compare"] == given["with"]:
        faults = {"with": "Choose two different tests."}
    if faults:
        raise InvalidFields(faults)
    return int(given["compare"]), int(given["with"])


def twins_of(arms: Sequence[MeasuredTest]) -> list[ArmPair]:
    """Each HTTPS (or wss) test with the HTTP (or ws) test of the same plan and mode.

    A test of the same target is preferred; one of another target is used only if it is the only
    candidate, and the comparison then says so. A resumed session has no HTTP counterpart: it is
    compared with HTTP on a new connection.
    """
    pairs = []
    has_places = len({arm.test.endpoint.target_id for arm in arms}) > 1
    for candidate in arms:
        if plain := TLS_TWINS.get(candidate.scheme):
            baseline = _partner(candidate, [arm for arm in arms if arm.scheme == plain])
            place = candidate.test.endpoint.target.name if has_places else ""
            pairs += [ArmPair(baseline, candidate, place=place)] if baseline else []
    return pairs


def _partner(candidate: MeasuredTest, candidates: Sequence[MeasuredTest]) -> MeasuredTest | None:
    mode = candidate.test.connection_mode
    for wanted in (mode, "new") if mode == "resumed" else (mode,):
        fitting = [
            arm
            for arm in candidates
            if arm.test.plan_version_id == candidate.test.plan_version_id
            and arm.test.injectors == candidate.test.injectors
            and arm.test.connection_mode == wanted
        ]
        twins = [
            arm
            for arm in fitting
            if arm.test.endpoint.target_id == candidate.test.endpoint.target_id
        ]
        if twins or len(fitting) == 1:
            return (twins or fitting)[0]
    return None


def compare(
    campaign: Campaign, pair: ArmPair, blockers: Sequence[Blocker] = (), metric: str = "mean"
) -> Overhead:
    """The pair's rows, and the verdict on the one of this metric, by the threshold of the
    campaign, which is the candidate's.

    `blockers`: what else speaks against a verdict. Tests of two campaigns share no blocks.
    """
    is_paired = _is_paired(campaign, pair)
    rows = overhead_rows(
        *_figures(pair),
        paired=is_paired,
        repeats=tuple(_repeats(arm) for arm in pair),
        jumps=jumps_us([each.total for each in pair.counted]),
    )
    likeness = like_for_like(*([each.of_arm for each in arm.counted] for arm in pair))
    judged = next(row for row in rows if row.metric == metric)
    return Overhead(
        pair,
        rows,
        _verdict(campaign, pair, judged, [*blockers, *_blockers(pair, likeness)]),
        is_paired,
        pair.n_usable >= MIN_REPEATS,
        likeness,
        judged,
    )


def mean_against(campaign: Campaign, pair: ArmPair) -> OverheadRow:
    """The difference of the means alone, without a verdict."""
    repeats = tuple(_repeats(arm) for arm in pair)
    return mean_row(*_figures(pair), paired=_is_paired(campaign, pair), repeats=repeats)


def _figures(pair: ArmPair) -> list[list[Figures]]:
    return [[each.figures for each in arm.counted] for arm in pair]


def _is_paired(campaign: Campaign, pair: ArmPair) -> bool:
    return (
        pair.is_of_one_campaign
        and campaign.order == Campaign.Order.BLOCKS
        and _have_whole_blocks(pair)
    )


def _repeats(arm: MeasuredTest) -> list[int]:
    return [each.run.repeat for each in arm.counted]


def _have_whole_blocks(pair: ArmPair) -> bool:
    """Whether both arms have the same blocks, or enough of them for a verdict."""
    ours, theirs = (set(_repeats(arm)) for arm in pair)
    return ours == theirs or len(ours & theirs) >= MIN_REPEATS


def _verdict(
    campaign: Campaign, pair: ArmPair, mean: OverheadRow, blockers: Sequence[Blocker]
) -> ComparisonVerdict:
    spoilt = [each for arm in pair for each in arm.runs if _is_spoilt(each)]
    if spoilt and pair.n_usable < MIN_REPEATS:
        runs = "1 finished run" if len(spoilt) == 1 else f"{len(spoilt)} finished runs"
        text = f"{runs} cannot be used. {spoilt[0].why_unusable}"
        return ComparisonVerdict(Word.INCONCLUSIVE, Reason.INVALID_RUNS, text)
    return verdict(
        mean.interval,
        campaign.practical_threshold,
        floor=_floor_us(pair, mean),
        blockers=blockers,
        names=pair.names,
    )


def _is_spoilt(each: MeasuredRun) -> bool:
    return each.run.is_done and not each.is_usable


def _floor_us(pair: ArmPair, mean: OverheadRow) -> float:
    """The smallest difference, µs, that this measurement can resolve."""
    lateness = [arm.pooled[0].timing("lateness").percentile_us(P50) for arm in pair]
    return max(FLOOR_US, _BUCKET * (mean.candidate_us or 0.0), *(each or 0.0 for each in lateness))


def _blockers(pair: ArmPair, likeness) -> list[Blocker]:
    found = []
    errors = [arm.pooled[1].error_share or 0.0 for arm in pair if arm.counted]
    if errors and _too_many_errors(errors):
        shares = " and ".join(percent(share) for share in errors)
        found.append((Reason.ERRORS, f"Too many requests failed ({shares}) to compare times."))
    if unlike_names := unlike_by_accident(pair, likeness):
        names = ", ".join(unlike_names)
        found.append(
            (Reason.NOT_LIKE_FOR_LIKE, f"The two are not set up alike. They differ in: {names}.")
        )
    if unlike_loads := _unlike_loads(pair):
        found.append((Reason.UNLIKE_LOAD, unlike_loads))
    if _one_after_the_other(pair):
        found.append(
            (
                Reason.ORDER_CONFOUNDED,
                "All runs of one came before those of the other, so the difference includes "
                "whatever changed in between. Repeat them in counterbalanced blocks.",
            )
        )
    return found


def unlike_by_accident(pair: ArmPair, likeness) -> list[str]:
    """What differs although nobody chose it."""
    names = [row[0] for row in likeness["different"]]
    if not pair.is_chosen:
        return names
    chosen = _DIFFERS_BY_CHOICE | ({"status"} if _have_two_plans(pair) else set())
    return [name for name in names if name not in chosen]


def _have_two_plans(pair: ArmPair) -> bool:
    return pair.baseline.test.plan_version_id != pair.candidate.test.plan_version_id


def _too_many_errors(shares: Sequence[float]) -> bool:
    return max(shares) > _MAX_ERROR_SHARE or max(shares) - min(shares) > _MAX_ERROR_DIFFERENCE


def _unlike_loads(pair: ArmPair) -> str:
    """Why the loads differ, unless the chosen plans ask for different ones."""
    if not pair.counted:
        return ""
    plans = [each.measurement.plan for each in pair.counted]
    if pair.is_chosen and any(plan.load != plans[0].load for plan in plans):
        return ""
    return unlike(plans[0], *([each.measurement for each in arm.counted] for arm in pair))


def _one_after_the_other(pair: ArmPair) -> bool:
    if not pair.is_of_one_campaign:
        return False
    first, second = ([each.run.position for each in arm.counted] for arm in pair)
    if min(len(first), len(second)) < MIN_REPEATS:
        return False
    return max(first) < min(second) or max(second) < min(first)


def overhead_answer(overhead: Overhead, *, is_final: bool) -> OverheadAnswer:
    """The pair as pages render it. A running campaign gets no verdict before its third repeat."""
    pair, found = overhead.pair, overhead.verdict
    word = found.word if overhead.has_word or is_final else None
    return OverheadAnswer(
        plan_label=pair.candidate.plan_label,
        connection_mode=pair.candidate.test.connection_mode,
        baseline_test_id=pair.baseline.test.pk,
        candidate_test_id=pair.candidate.test.pk,
        title=pair.title,
        table=overhead_table(
            f"overhead-{pair.baseline.test.pk}-{pair.candidate.test.pk}",
            _table_title(pair),
            overhead.rows,
            word,
            found.text,
            pair.names,
        ),
        forest=forest(overhead.rows, word),
        split=split_answer(
            [
                (arm.label, arm.scheme, part_means_us([each.total for each in arm.counted]))
                for arm in pair
            ]
        ),
        word=str(word or ""),
        word_reason=found.text,
        like_for_like=overhead.likeness,
        names=pair.names,
        is_chosen=pair.is_chosen,
        n_usable=pair.n_usable,
        decided_by=_flagged(pair, found.decided_by),
        set_aside=set_aside_of(overhead),
        advice=found.advice,
    )


def _table_title(pair: ArmPair) -> str:
    baseline, candidate = pair
    plan = f"{baseline.plan_label}, " if _have_two_plans(pair) else ""
    return f"{candidate.plan_label}: {candidate.label} against {plan}{baseline.label}"


def set_aside_of(overhead: Overhead) -> tuple[FlaggedRun, ...]:
    """The runs that are too far off to count."""
    odd = overhead.mean.interval.set_aside if overhead.mean.interval else ()
    return tuple(_flagged(overhead.pair, each) for each in odd)


def _flagged(pair: ArmPair, odd: OddRun | None) -> FlaggedRun | None:
    if odd is None:
        return None
    arm = tuple(pair)[odd.arm]
    run = next(each.run for each in arm.runs if each.run.repeat == odd.repeat)
    return FlaggedRun(run.pk, run.label, odd.repeat, pair.names[odd.arm], odd.times)
