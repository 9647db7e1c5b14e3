"""A campaign's protocol ladder: its arms as rungs, each against the one before and plain HTTP.
Checks no permissions: callers pass what was read for rows found with visible_to."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from campaigns.compare.queries.arm_pairs import ArmPair, MeasuredTest
from campaigns.compare.queries.overheads import Overhead, compare, unlike_by_accident
from campaigns.compare.queries.side_by_side import medians_us
from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.pair import part_means_us
from campaigns.domain.analysis.ratio import (
    MIN_REPEATS,
    MeanInterval,
    mean_interval,
    typical_interval,
)
from campaigns.domain.metrics.figures import TYPICAL
from campaigns.domain.metrics.injector_end import TlsHandshakes, sum_of, tls_libraries_of
from campaigns.domain.metrics.outcomes import everything_failed, failure_words
from campaigns.domain.percentiles import P50, P95, P99, Shown, name, shown, why_not_shown
from campaigns.domain.plan.rungs import Section, Spoken, is_ladder, section_of, spoken_by
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.tls_options import is_post_quantum
from campaigns.domain.presentation.ladder import (
    LADDER_METRICS,
    MEAN,
    METRICS_IN_TURNS,
    SECTION_TITLES,
    Agreed,
    Ladder,
    LadderRung,
    RungStep,
    WireBytes,
)
from campaigns.domain.presentation.ladder_words import rung_title
from campaigns.domain.presentation.latency_table import figures_by_key
from campaigns.domain.presentation.metrics import ALSO_CALLED
from campaigns.domain.presentation.report_tables import certificates_of
from campaigns.domain.presentation.tables import Figure
from campaigns.domain.units import counted
from campaigns.models import Campaign
from campaigns.runs.queries.measurements import MeasuredRun
from campaigns.runs.queries.runs import failures_of

_PLAN_FIELDS = ("http_version", "streams")
_SHOWN = (P50, P95, P99)
_VERSIONS = {"1.2": "TLSv1.2", "1.3": "TLSv1.3"}

_Place = tuple[Section, Spoken, MeasuredTest]


def ladder_metric(query: Mapping[str, str]) -> str:
    """That of ?metric=p95; "" for anything else, which is what a ladder is usually compared by."""
    metric = ALSO_CALLED.get(query.get("metric", ""), query.get("metric", ""))
    return metric if metric in {*LADDER_METRICS, *METRICS_IN_TURNS} else ""


def ladder_of(
    campaign: Campaign, arms: Sequence[MeasuredTest], *, is_final: bool, metric: str = ""
) -> tuple[Ladder | None, list[Overhead]]:
    """The ladder by one of its metrics, its first without any, and each rung's comparison with
    plain HTTP, or with the rung before where there is none; (None, []) of a campaign whose arms are
    not told apart by the layers of one target."""
    if not (places := _places(arms)):
        return None, []
    places = _in_shared_passes(places)
    in_turns = campaign.order == Campaign.Order.SIDE_BY_SIDE
    metrics = METRICS_IN_TURNS if in_turns else LADDER_METRICS
    metric = metric if metric in metrics else metrics[0]
    climb = _Climb(campaign, is_final, metric, in_turns=in_turns)
    rungs = tuple(climb.rung(*each) for each in _with_neighbours(places))
    target, likeness = arms[0].test.endpoint.target.name, _likeness_of(rungs, climb.overheads)
    return Ladder(target, rungs, metric, *likeness, in_turns=in_turns), climb.overheads


def ladder_pairs(arms: Sequence[MeasuredTest]) -> list[ArmPair]:
    """Each rung with the one before and with plain HTTP; [] of arms that are no ladder."""
    pairs = []
    for (_, _, arm), last, plain in _with_neighbours(_places(arms)):
        others = [other for other in (last and last[2], plain) if other and other is not arm]
        by_test = {other.test.pk: other for other in others}
        pairs += [ArmPair(other, arm, is_chosen=True) for other in by_test.values()]
    return pairs


def _with_neighbours(
    places: Sequence[_Place],
) -> Iterator[tuple[_Place, _Place | None, MeasuredTest | None]]:
    """Each with the rung before it, and plain HTTP of its section, which may be itself."""
    plain: dict[Section, MeasuredTest] = {}
    for section, protocol, arm in places:
        if not protocol.tls:
            plain.setdefault(section, arm)
    if Section.NEW in plain:  # other profiles are measured on new connections
        plain[Section.PROFILES] = plain[Section.NEW]
    place_before: dict[Section, _Place] = {}
    for place in places:
        section = place[0]
        yield place, place_before.get(section), plain.get(section)
        place_before[section] = place


def _in_shared_passes(places: list[_Place]) -> list[_Place]:
    """Rungs are compared over the same passes, if enough have a run of each that counts."""
    repeats_by_rung = [{each.run.repeat for each in _sound_runs(arm)} for _, _, arm in places]
    common = set.intersection(*filter(None, repeats_by_rung)) if any(repeats_by_rung) else set()
    if len(common) < MIN_REPEATS or all(each == common for each in repeats_by_rung):
        return places
    return [
        (section, protocol, replace(arm, runs=tuple(r for r in arm.runs if r.run.repeat in common)))
        if passes
        else (section, protocol, arm)
        for (section, protocol, arm), passes in zip(places, repeats_by_rung, strict=True)
    ]


def _could_be_one(arms: Sequence[MeasuredTest]) -> bool:
    """One target over HTTP without a sweep, and more than one way over TLS: told without reading a
    plan, because most campaigns are no ladder."""
    tests = [arm.test for arm in arms]
    if len({(test.endpoint.target_id, test.injectors) for test in tests}) != 1:
        return False
    if any(arm.scheme in WEBSOCKET_SCHEMES or arm.test.swept for arm in arms):
        return False
    over_tls = {
        (test.endpoint_id, *(test.plan_version.spec.get(name) for name in _PLAN_FIELDS))
        for test in tests
        if test.endpoint.scheme == "https"
    }
    return len(over_tls) > 1


def _places(arms: Sequence[MeasuredTest]) -> list[_Place]:
    """The rungs in their order; [] of arms that are no ladder."""
    if not _could_be_one(arms):
        return []
    protocols = [spoken_by(arm.origin, arm.test.connection_mode, arm.test.plan()) for arm in arms]
    has_many = any(each.streams > 1 for each in protocols)
    places = [
        (section_of(each, arm.test.connection_mode, has_many=has_many), each, arm)
        for each, arm in zip(protocols, arms, strict=True)
    ]
    rungs = [(section, each) for section, each, _ in places]
    return sorted(places, key=_in_order) if is_ladder(rungs) else []


def _in_order(place: _Place) -> tuple:
    """Section by section; other profiles as the campaign lists them, such as ECDSA after RSA."""
    section, protocol, arm = place
    within = arm.test.position if section == Section.PROFILES else protocol
    return list(Section).index(section), within


@dataclass(slots=True)
class _Climb:
    """From rung to rung, with the rungs so far."""

    campaign: Campaign
    is_final: bool
    metric: str
    in_turns: bool
    titles: dict[int, str] = field(default_factory=dict)
    overheads: list[Overhead] = field(default_factory=list)

    def rung(self, place: _Place, last: _Place | None, ground: MeasuredTest | None) -> LadderRung:
        section, protocol, arm = place
        if section == Section.MANY:
            version = protocol.http
            title = f"HTTP/{version}" if version == HttpVersion.HTTP_2 else f"HTTPS/{version}"
        elif section == Section.PROFILES:
            title = protocol.profile
        else:
            title = rung_title(protocol, last and last[1])
        self.titles[arm.test.pk] = title
        before, plain = (self._compare(other, arm) for other in (last and last[2], ground))
        if overhead := plain or before:
            self.overheads.append(overhead)
        runs, agreement, failures = _sound_runs(arm), _agreed(arm), failures_of(arm.runs)
        # What failed on a rung that the server does not speak, or why its first run does not count.
        why = next((each.why_unusable for each in arm.runs if each.why_unusable), "")
        if everything_failed(failures.rows, failures.attempts):
            why = f"{failure_words(failures.rows, failures.attempts, arm.noun)}."
        figures = arm.pooled[1] if runs else None
        by_key = figures_by_key(figures) if figures else {}
        value, why_weak = self._value_of(arm)
        return LadderRung(
            section=section,
            title=title,
            words=_words(section, protocol, agreement),
            test_id=arm.test.pk,
            is_plain=ground is arm,
            mean=_mean_of(runs),
            value=value,
            before=before and self._step(section, before),
            plain=plain and self._step(section, plain),
            parts=part_means_us([each.total for each in runs]),
            wire=_wire(arm),
            own_cpu_us=_own_cpu_us(arm),
            agreed=agreement,
            percentiles={name(q): by_key.get(name(q), Figure(None, why)) for q in _SHOWN},
            rate_per_s=figures and figures.rate_per_s,
            connections=protocol.connections,
            streams=protocol.streams,
            why=why if value else why or why_weak,
            weak=why_weak if value else "",
            not_taken=_not_taken(protocol, agreement),
        )

    def _compare(self, baseline: MeasuredTest | None, candidate: MeasuredTest) -> Overhead | None:
        """None where there is no such rung, or one of the two has no usable run."""
        if baseline is None or baseline is candidate:
            return None
        has_runs = all(arm.counted and arm.is_sound for arm in (baseline, candidate))
        if not (has_runs or self.in_turns):
            return None
        names = (self.titles[baseline.test.pk], self.titles[candidate.test.pk])
        pair = ArmPair(baseline, candidate, is_chosen=True, called=names)
        return compare(self.campaign, pair, metric="" if self.metric == TYPICAL else self.metric)

    def _value_of(self, arm: MeasuredTest) -> tuple[MeanInterval | None, str]:
        """(the metric over the runs that count, why it is weak or not shown)"""
        if self.metric == TYPICAL:
            median_us = medians_us(self.campaign).get(arm.test.pk)
            return (mean_interval([median_us]) if median_us else None), ""
        runs = _sound_runs(arm)
        if self.metric == MEAN or not runs:
            return _mean_of(runs), ""
        q = next(q for q in _SHOWN if name(q) == self.metric)
        fewest = min(each.figures.n for each in runs)
        is_hidden, why = shown(fewest, q) is Shown.NO, why_not_shown(fewest, q)
        us = [each.figures.percentiles[q] for each in runs]
        return (None if is_hidden else typical_interval(us)), why

    def _step(self, section: Section, overhead: Overhead) -> RungStep:
        values = (self._value_of(arm)[0] for arm in overhead.pair)
        has_word = overhead.has_word or self.is_final
        return RungStep(
            row=overhead.judged if has_word else replace(overhead.judged, word=None),
            times_us=tuple(value and value.mean for value in values),
            names=overhead.pair.names,
            title=f"{SECTION_TITLES[section]}: {overhead.pair.title}",
            counted=overhead.pair.of_machine,
            is_paired=overhead.is_paired,
            blocker=overhead.blocker,
        )


def _sound_runs(arm: MeasuredTest) -> list[MeasuredRun]:
    return arm.counted if arm.is_sound else []


def _mean_of(runs: Sequence[MeasuredRun]) -> MeanInterval | None:
    return typical_interval([each.figures.mean_us for each in runs]) if runs else None


def _words(section: Section, protocol: Spoken, agreement: Agreed) -> str:
    """What the rung is, in few words."""
    if section == Section.MANY:
        streams = counted(protocol.streams, "streams")
        is_http2 = protocol.http == HttpVersion.HTTP_2
        connections = counted(protocol.connections, "connections")
        return f"{connections}, {streams} each" if is_http2 else connections
    if not protocol.tls:
        return "no TLS"
    words = [
        "one stream a connection" if protocol.http == HttpVersion.HTTP_2 else "",
        "a ticket instead of a certificate" if protocol.is_resumed else "",
        "" if protocol.is_resumed else ", ".join(agreement.groups),
        "" if section != Section.PROFILES else "; ".join(agreement.certificates),
    ]
    return ", ".join(filter(None, words))


def _handshakes(arm: MeasuredTest) -> list[TlsHandshakes]:
    return [each for run in arm.counted for end in run.measurement.ends for each in end.tls]


def _agreed(arm: MeasuredTest) -> Agreed:
    counts: Counter[str] = Counter()
    handshakes = _handshakes(arm)
    for each in handshakes:
        counts[each.agreed] += each.count
    ends = [end for run in arm.counted for end in run.measurement.ends]
    return Agreed(
        full=sum(each.count for each in handshakes if not each.resumed),
        resumed=sum(each.count for each in handshakes if each.resumed),
        chosen=tuple(counts.most_common()),
        certificates=tuple(certificates_of(ends)),
        groups=tuple(dict.fromkeys(each.group for each in handshakes if each.group)),
        versions=tuple(dict.fromkeys(each.version for each in handshakes)),
    )


def _not_taken(protocol: Spoken, agreement: Agreed) -> tuple[str, ...]:
    """What the rung offered first and the server did not take, a sentence each."""
    if not protocol.tls or not agreement.versions:
        return ()
    differences = []
    if _VERSIONS[protocol.tls] not in agreement.versions:
        differences.append(say("server_chose", chosen=", ".join(agreement.versions)))
    if protocol.is_hybrid and agreement.groups and not any(map(is_post_quantum, agreement.groups)):
        differences.append(say("server_chose", chosen=", ".join(agreement.groups)))
    if protocol.is_resumed and not agreement.resumed:
        differences.append(say("none_resumed"))
    return tuple(differences)


def _wire(arm: MeasuredTest) -> WireBytes:
    totals = [run.total for run in arm.counted]
    replies = sum(each.count("ok") + each.count("failed") for each in totals)
    is_complete = bool(replies) and all(each.count("wire_received") for each in totals)
    sent_bytes, received_bytes = (
        sum(each.count(name) for each in totals) / replies if is_complete else None
        for name in ("wire_sent", "wire_received")
    )
    handshakes, handshake_bytes = _handshakes(arm), None
    sizes = [size for each in handshakes for size in (each.bytes_sent, each.bytes_received)]
    n = sum(each.count for each in handshakes)
    if n and None not in sizes:
        handshake_bytes = sum(each.bytes_sent + each.bytes_received for each in handshakes) / n
    return WireBytes(sent_bytes, received_bytes, handshake_bytes)


def _own_cpu_us(arm: MeasuredTest) -> float | None:
    """The injectors' CPU time per request, the warm-up's among them; the mean over runs."""
    shares = []
    for run in arm.counted:
        ends = run.measurement.ends
        cpu_us = sum_of(ends, "cpu_us")
        n = sum(end.totals.get(each, 0) for end in ends for each in ("ok", "failed"))
        if cpu_us is None or not n:
            return None
        shares.append(cpu_us / n)
    return fmean(shares) if shares else None


# A ladder has one target, and a rung of HTTP/2 a plan of its own.
_CHOSEN = {"target", "plan"}


def _likeness_of(
    rungs: Sequence[LadderRung], overheads: Sequence[Overhead]
) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Of the comparisons that were made: what is written alike in all of them, and what is not. An
    arm that is close to another one in bytes or requests counts as like it."""
    if not overheads:
        return (), ()
    facts = [dict((*each.likeness["same"], *each.likeness["equal"])) for each in overheads]
    same = [
        # Each value once, "2,148 B and 2,150 B" as it stands.
        (what, "; ".join(dict.fromkeys(each[what] for each in facts if each[what])))
        for what in facts[0]
        if what not in _CHOSEN and all(what in each for each in facts)
    ]
    # The injectors' TLS libraries, each once.
    ends = (end for each in overheads for run in each.pair.counted for end in run.measurement.ends)
    libraries = tls_libraries_of(list(ends))
    library = [("TLS library", libraries[0])] if len(libraries) == 1 else []
    differs = [("TLS library", ", ".join(libraries))] if len(libraries) > 1 else []
    # It is named where every rung over TLS was shown the same.
    certificates = {rung.agreed.certificates for rung in rungs if rung.agreed.certificates}
    if len(certificates) == 1:
        same.append(("certificate", "; ".join(certificates.pop())))
    by_fact: dict[str, list[str]] = {}
    for each in overheads:
        accidents = unlike_by_accident(each.pair, each.likeness)
        for what, *values in each.likeness["different"]:
            if what in accidents:
                pairs = zip(each.pair.names, values, strict=True)
                text = ", ".join(f"{name} {value or 'none'}" for name, value in pairs)
                by_fact.setdefault(what, []).append(text)
    different = [(what, "; ".join(dict.fromkeys(texts))) for what, texts in by_fact.items()]
    return (*same, *library), (*different, *differs)
