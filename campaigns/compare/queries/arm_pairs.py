"""The tests of a campaign with their runs, and which two of them are compared. A campaign's tests
with their runs, and the labels that tell them apart."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean

from campaigns.domain.analysis.changes import CampaignNoise
from campaigns.domain.analysis.pair import Blocker
from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.figures import Figures, typical_metric
from campaigns.domain.metrics.outcomes import without_addresses
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.sweep import INJECTORS, point_words
from campaigns.domain.plan.target import TLS_TWINS, WEBSOCKET_SCHEMES, Origin
from campaigns.domain.presentation.sentences import MODES, ArmFacts, arm_names, shared_mode
from campaigns.models import Campaign, Test
from campaigns.runs.queries.measurements import (
    MeasuredRun,
    PooledCache,
    comparable_runs,
    counted_runs,
    pooled_flows,
)

_NO_TEST = "Choose a test of this campaign."


@dataclass(frozen=True)
class MeasuredTest:
    """A test with its runs, in order of the repeats. `is_of_days`: its runs are from several
    campaigns, of which `test` is in the newest. `place`: what of its label tells it from tests of
    the same plan, scheme and mode, but the TLS profile. `alone`: runs of an arm that took turns,
    which tell only what they cost the target's machine."""

    test: Test
    label: str
    plan_label: str
    runs: tuple[MeasuredRun, ...]
    is_of_days: bool = False
    cache: PooledCache = field(default_factory=PooledCache)
    place: str = ""
    alone: tuple[MeasuredRun, ...] = ()

    @cached_property
    def counted(self) -> list[MeasuredRun]:
        """The runs that its figures cover; those of an overloaded target if it has no others."""
        return counted_runs(self.runs)

    @cached_property
    def comparable(self) -> list[MeasuredRun]:
        """The runs whose medians are compared, those of a busy machine among them."""
        return comparable_runs(self.runs)

    @cached_property
    def of_machine(self) -> list[MeasuredRun]:
        """The runs that tell what the test costs the target's machine."""
        return comparable_runs(self.alone) or self.counted

    @property
    def has_messages(self) -> bool:
        """Whether it is messages that took turns, on connections that stayed open."""
        return self.noun == "messages"

    @property
    def is_busy(self) -> bool:
        """Whether a busy machine spoilt mean and tail of a run."""
        return any(each.judged and each.judged.is_busy for each in self.comparable)

    @property
    def is_in_doubt(self) -> bool:
        """Whether a run is, also one that its mean leaves out."""
        return any(each.judged and each.judged.is_in_doubt for each in self.comparable)

    def time_us(self, metric: str) -> float:
        """The mean over its runs; of medians also over those on a busy machine."""
        runs = self.counted if metric == "mean" else self.comparable
        return fmean(each.figures.time_us(metric) for each in runs)

    @cached_property
    def pooled(self) -> tuple[Total, Figures | None]:
        """All requests of these runs merged."""
        return self.cache.pooled_of(self.counted)

    @cached_property
    def flows(self) -> list[tuple[str, Figures]]:
        """The flows of its plan, with all requests of these runs merged."""
        return pooled_flows(self.counted)

    @cached_property
    def ended(self) -> list[MeasuredRun]:
        return [each for each in self.runs if each.run.is_done]

    @property
    def error_share(self) -> float:
        """Of all requests of the counted runs; 0 without any."""
        figures = [each.figures for each in self.counted]
        attempts = sum(each.attempts for each in figures)
        return sum(each.errors for each in figures) / attempts if attempts else 0.0

    @cached_property
    def n_usable(self) -> int:
        return sum(each.is_usable for each in self.runs)

    @property
    def is_sound(self) -> bool:
        """Whether its figures are of response times, not of overload; true while there are none."""
        return bool(self.n_usable) or not self.counted

    @property
    def origin(self) -> Origin:
        """The endpoint as the first run has frozen it; without a run, as it is now."""
        if self.runs:
            return Origin.from_json(self.runs[0].run.snapshot["endpoint"])
        return self.test.endpoint.frozen()

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
            test.endpoint.told_host,
            test.endpoint.port,
            test.connection_mode,
            test.injectors,
            test.swept_words,
            test.endpoint.tls_profile,
        )

    @property
    def noun(self) -> str:
        """What is counted: a WebSocket attempt is a connection, opened and closed."""
        if self.runs:
            return self.runs[0].run.frozen.nouns
        return "connections" if self.scheme in WEBSOCKET_SCHEMES else "requests"


@dataclass(frozen=True)
class ArmPair:
    """Two tests to compare. `is_chosen`: by a user, so that what tells them apart may differ.
    `called`: names of the two where those of their arms would be the same. `place`: what tells the
    pair from others, such as the target, or the value of a sweep."""

    baseline: MeasuredTest
    candidate: MeasuredTest
    is_chosen: bool = False
    called: tuple[str, str] | None = None
    place: str = ""
    noise: CampaignNoise | None = None  # of the campaigns before the later one

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
        if self.candidate.has_messages and not self.is_chosen:
            return ", ".join(filter(None, ["Message round trip", self.place]))
        if self.is_chosen or not self.shared_mode:
            return " against ".join(reversed(self.names))
        return ", ".join(filter(None, [MODES[self.shared_mode].capitalize(), self.place]))

    @property
    def blockers(self) -> list[Blocker]:
        """Why there can be no word, whatever the two did."""
        return []

    @property
    def n_usable(self) -> int:
        """The usable runs of the arm that has fewer."""
        return min(each.n_usable for each in self)

    @property
    def is_busy(self) -> bool:
        return any(arm.is_busy for arm in self)

    @property
    def of_machine(self) -> tuple[dict[int, int], dict[int, int]]:
        """By repeat, the runs of both that tell what each costs the target's machine."""
        first, second = ({each.run.repeat: each.run.pk for each in arm.of_machine} for arm in self)
        return first, second

    @property
    def counted(self) -> list[MeasuredRun]:
        return [run for arm in self for run in arm.counted]


def pairs_of(arms: Sequence[MeasuredTest], pair: tuple[int, int] | None) -> list[ArmPair]:
    """The pair that was chosen (candidate, baseline: ids of tests), else all pairs of TLS twins."""
    if pair is None:
        # Each HTTPS (or wss) test with the HTTP (or ws) test of the same plan and mode. A test of
        # the same target is preferred; one of another target is used only if it is the only
        # candidate, and the comparison then says so. A resumed session has no HTTP counterpart: it
        # is compared with HTTP on a new connection.
        pairs = []
        for candidate in arms:
            if plain := TLS_TWINS.get(candidate.scheme):
                baseline = _partner(candidate, [arm for arm in arms if arm.scheme == plain])
                pairs += [ArmPair(baseline, candidate, place=candidate.place)] if baseline else []
        return pairs
    by_test = {arm.test.pk: arm for arm in arms}
    candidate, baseline = (by_test[pk] for pk in pair)
    return [ArmPair(baseline, candidate, is_chosen=True)]


def pairs_in_turns(arms: Sequence[MeasuredTest]) -> list[ArmPair]:
    """Where nobody chose two, and no two are TLS twins: each arm with the first of its plan."""
    first: dict[tuple, MeasuredTest] = {}
    pairs = []
    for arm in arms:
        test = arm.test
        base = first.setdefault((test.plan_version_id, test.swept, test.swept_value), arm)
        pairs += [ArmPair(base, arm, is_chosen=True)] if base is not arm else []
    return pairs


def chosen_tests(campaign: Campaign, query: Mapping[str, str]) -> tuple[int, int] | None:
    """The tests of `?compare=CANDIDATE&with=BASELINE`; None where neither is given. Raises
    InvalidFields for anything but two different tests of this campaign."""
    texts = {name: query.get(name, "") for name in ("compare", "with")}
    if not any(texts.values()):
        return None
    tests = {str(pk) for pk in campaign.tests.values_list("pk", flat=True)}
    faults = {name: _NO_TEST for name, value in texts.items() if value not in tests}
    if not faults and texts["compare"] == texts["with"]:
        faults = {"with": "Choose two different tests."}
    if faults:
        raise InvalidFields(faults)
    return int(texts["compare"]), int(texts["with"])


def _partner(candidate: MeasuredTest, candidates: Sequence[MeasuredTest]) -> MeasuredTest | None:
    mode = candidate.test.connection_mode
    for each in (mode, "new") if mode == "resumed" else (mode,):
        fitting = [
            arm
            for arm in candidates
            if arm.test.plan_version_id == candidate.test.plan_version_id
            and arm.test.injectors == candidate.test.injectors
            and arm.test.swept_value == candidate.test.swept_value
            and arm.test.connection_mode == each
        ]
        twins = [
            arm
            for arm in fitting
            if arm.test.endpoint.target_id == candidate.test.endpoint.target_id
        ]
        if twins or len(fitting) == 1:
            return (twins or fitting)[0]
    return None


def measured_tests(tests: Sequence[Test], runs: Sequence[MeasuredRun]) -> list[MeasuredTest]:
    """Each test with its own of the runs, and the labels that tell it apart from the others."""
    by_test: dict[int, list[MeasuredRun]] = {test.pk: [] for test in tests}
    for each in runs:
        if each.run.test_id in by_test:
            by_test[each.run.test_id].append(each)
    numbers = {test.plan_version.plan_id: set() for test in tests}
    for test in tests:
        numbers[test.plan_version.plan_id].add(test.plan_version.number)
    targets = {test.endpoint.target_id for test in tests}
    counts = {test.injectors for test in tests}
    places = {(test.endpoint.target_id, test.endpoint.scheme) for test in tests}
    # What tells endpoints apart that target and scheme do not: ":8443", "10.0.0.2:8443".
    endpoints = {test.endpoint for test in tests}
    addresses = {}
    if len({(each.target_id, each.described().place) for each in endpoints}) != len(places):
        one_host = len({each.dialled for each in endpoints}) == 1
        addresses = {
            each.pk: f"{'' if one_host else each.told_host}:{each.port}" for each in endpoints
        }
    arms: list[MeasuredTest] = []
    pools = PooledCache(lambda: [each.counted for each in arms])
    for test in tests:
        version = test.plan_version
        of_test = sorted(by_test[test.pk], key=lambda each: each.run.repeat)
        place = [
            test.endpoint.target.name if len(targets) > 1 else "",
            addresses.get(test.endpoint_id, ""),
        ]
        value = [
            point_words(INJECTORS, test.injectors) if len(counts) > 1 else "",
            test.swept_words,
        ]
        arms.append(
            MeasuredTest(
                test,
                _in_words(arm_words(test), *place, test.endpoint.tls_profile, *value),
                str(version) if len(numbers[version.plan_id]) > 1 else version.plan.name,
                tuple(each for each in of_test if not each.run.is_alone),
                cache=pools,
                place=_in_words(*place, *value),
                alone=tuple(each for each in of_test if each.run.is_alone),
            )
        )
    return arms


def _in_words(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def hide_hosts(tests: Sequence[Test]) -> None:
    """From a reader who may not see machines: numbers tell these tests' hosts apart as well."""
    hosts = list(dict.fromkeys(test.endpoint.dialled for test in tests))
    for test in tests:
        test.endpoint.hidden_host = f"host {hosts.index(test.endpoint.dialled) + 1}"


def stop_reason_of(campaign: Campaign, *, shows_machines: bool) -> str:
    """Why it stopped by itself, as the reader may know it: a first request that failed is told with
    its address."""
    if shows_machines or not campaign.stop_reason:
        return campaign.stop_reason
    hosts = campaign.tests.order_by().values_list("endpoint__host", flat=True).distinct()
    return without_addresses(campaign.stop_reason, *hosts)


def arm_words(test: Test) -> str:
    return f"{test.endpoint.scheme.upper()} {MODES[test.connection_mode]}"


def metric_of(arms: Iterable[MeasuredTest]) -> str:
    """By which these tests are told beside each other: "mean", unless a machine was busy."""
    arms = list(arms)
    if not any(arm.is_busy for arm in arms):
        return "mean"
    return typical_metric(each.figures for arm in arms for each in arm.comparable)
