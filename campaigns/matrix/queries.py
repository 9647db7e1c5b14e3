"""A campaign over several targets as a matrix: plans by targets."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean

from campaigns.compare.queries.arm_pairs import ArmPair, MeasuredTest, arm_words, metric_of
from campaigns.compare.queries.overheads import compare
from campaigns.compare.queries.side_by_side import medians_us
from campaigns.domain.analysis.judgement import in_short
from campaigns.domain.analysis.likeness import likeness_among
from campaigns.domain.analysis.limit import blame
from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.pair import PairResult, geometric_mean, ratio_over_plans
from campaigns.domain.analysis.ratio import MIN_REPEATS, MeanInterval, Word, mean_interval
from campaigns.domain.lifecycle import Trust
from campaigns.domain.metrics.figures import typical_metric
from campaigns.domain.plan.addresses import is_local
from campaigns.domain.presentation.tables import NO_RUN
from campaigns.domain.presentation.target_matrix import (
    MatrixCell,
    MatrixRow,
    Neighbours,
    NetworkRow,
    RowLikeness,
    TargetMatrix,
    like_lines,
)
from campaigns.domain.units import counted
from campaigns.models import Campaign

LOCAL, REMOTE = "local", "remote"


def _network_rows(
    campaign: Campaign,
    rows: Mapping[tuple[str, str], Mapping[tuple, MeasuredTest]],
    columns: Sequence[tuple],
) -> Iterator[NetworkRow]:
    """A row for each remote plan with a local one of the same requests and load. `rows`: tests by
    place and plan, and by column."""
    near = {_content(arms): (plan, arms) for (place, plan), arms in rows.items() if place == LOCAL}
    for (place, plan), far in rows.items():
        if place == REMOTE and _content(far) in near:
            local, arms = near[_content(far)]
            yield NetworkRow(
                plan,
                local,
                tuple(_difference(campaign, arms.get(key), far.get(key)) for key in columns),
            )


def means_us(campaign: Campaign, arm: MeasuredTest) -> dict[int, float]:
    """The mean of each run that counts, by its block; of arms that took turns the median without
    the injector's part, which is what their rounds compare."""
    if _took_turns(arm):
        median_us = medians_us(campaign).get(arm.test.pk)
        return {} if median_us is None else {1: median_us}
    return {each.run.repeat: each.figures.mean_us for each in arm.counted}


def _took_turns(arm: MeasuredTest) -> bool:
    return any(each.run.frozen.turns for each in arm.comparable)


def _content(tests: Mapping[tuple, MeasuredTest]) -> str:
    """What a row's plan sends, as text: two plans are alike if they send alike."""
    return repr(next(iter(tests.values())).test.plan_version.value())


def _difference(
    campaign: Campaign, near: MeasuredTest | None, far: MeasuredTest | None
) -> MeanInterval | None:
    """Within blocks, because a block's runs met the same conditions; else without an interval."""
    if not all(arm and arm.counted and arm.is_sound for arm in (near, far)):
        return None
    local, remote = means_us(campaign, near), means_us(campaign, far)
    both = [remote[block] - local[block] for block in local if block in remote]
    if both and campaign.order == Campaign.Order.BLOCKS:
        return mean_interval(both, is_signed=True)
    gap = fmean(remote.values()) - fmean(local.values())
    return MeanInterval(gap)


_PLACES = (LOCAL, REMOTE, "")

_Arms = dict[tuple, MeasuredTest]
_Rows = dict[tuple[str, str], _Arms]  # by place and plan


def target_matrix(
    campaign: Campaign, arms: Sequence[MeasuredTest], relative: int
) -> TargetMatrix | None:
    """None for a campaign of one target, or without a plan that two of them have in common.
    `relative`: the column that differences are of, from 1; an unknown one is the first."""
    rows, key = _laid_out(arms)
    # Names by key: only the target's where all have one scheme and connection mode.
    is_alike = len({arm_words(arm.test) for arm in arms}) == 1
    labels = {
        key(arm): arm.label.removeprefix(f"{arm_words(arm.test)}, ") if is_alike else arm.label
        for arm in arms
    }
    targets = {key(arm): arm.test.endpoint.target.name for arm in arms}
    columns = targets if is_alike and len(set(targets.values())) == len(targets) else labels
    common_rows = {row: tests for row, tests in rows.items() if len(tests) > 1}
    if len({arm.test.endpoint.target_id for arm in arms}) < 2 or not common_rows:
        return None
    relative = relative if 1 <= relative <= len(columns) else 1
    reference = list(columns)[relative - 1]
    likeness = []
    for (_, plan), tests in common_rows.items():
        runs = {key: test.counted for key, test in tests.items() if test.counted}
        if len(runs) > 1:
            alike = likeness_among([[each.of_arm for each in some] for some in runs.values()])
            names = tuple(columns[key] for key in runs)
            likeness.append(RowLikeness(plan, names, tuple(alike)))
    return TargetMatrix(
        columns=tuple(columns.values()),
        rows=tuple(
            _row(campaign, row, tests, columns, reference) for row, tests in common_rows.items()
        ),
        relative=relative,
        in_turns=any(map(_took_turns, arms)),
        overall=tuple(_overall(campaign, common_rows, columns, reference)),
        network=tuple(_network_rows(campaign, common_rows, list(columns))),
        like=tuple(like_lines(likeness)),
    )


def relative_column(query: Mapping[str, str]) -> int:
    """The column of ?relative=2; the first for anything else."""
    number = query.get("relative", "")
    return int(number) if re.fullmatch("[1-9][0-9]{0,2}", number) else 1


def _laid_out(arms: Sequence[MeasuredTest]) -> tuple[_Rows, Callable[[MeasuredTest], tuple]]:
    """The rows, and what tells columns apart: the target, unless a plan has two endpoints of one.
    Where several targets were measured both on the injectors' own host and elsewhere, a plan has a
    row for each of the two places."""
    for key, place in ((_target, _place), (_target, _anywhere), (_endpoint, _anywhere)):
        rows: _Rows = {}
        for arm in sorted(arms, key=lambda arm: _PLACES.index(place(arm))):
            rows.setdefault((place(arm), arm.plan_label), {})[key(arm)] = arm
        is_whole = sum(map(len, rows.values())) == len(arms)
        has_two = len({where for where, _ in rows}) > 1 and min(map(len, rows.values())) > 1
        if is_whole and (place is _anywhere or has_two):
            break
    return rows, key


def _place(arm: MeasuredTest) -> str:
    return LOCAL if is_local(arm.test.endpoint.host) else REMOTE


def _anywhere(arm: MeasuredTest) -> str:
    return ""


def _target(arm: MeasuredTest) -> tuple:
    endpoint = arm.test.endpoint
    return endpoint.target_id, endpoint.scheme, arm.test.connection_mode, arm.test.injectors


def _endpoint(arm: MeasuredTest) -> tuple:
    return arm.test.endpoint_id, arm.test.connection_mode, arm.test.injectors


def _row(
    campaign: Campaign,
    row: tuple[str, str],
    arms: _Arms,
    columns: dict[tuple, str],
    reference: tuple,
) -> MatrixRow:
    place, plan = row
    cells = [
        _cell(campaign, name, arms[key], None if key == reference else arms.get(reference))
        if key in arms
        else None
        for key, name in columns.items()
    ]
    names = {arm.test.pk: columns[key] for key, arm in arms.items()}
    order = tuple(_order(campaign, list(arms.values()), names))
    without = next((cell.why for cell in cells if cell and cell.why), say("too_few_targets"))
    return MatrixRow(plan, tuple(cells), order, order[0].why if order else without, place)


def _cell(
    campaign: Campaign, name: str, arm: MeasuredTest, baseline: MeasuredTest | None
) -> MatrixCell:
    values = list(means_us(campaign, arm).values()) if arm.is_sound else []
    if not values:
        why = next((each.why_unusable for each in arm.runs if each.why_unusable), NO_RUN)
        return MatrixCell(name, arm.test.pk, None, None, why=why)
    has_baseline = baseline is not None and bool(baseline.counted) and baseline.is_sound
    pair = ArmPair(baseline, arm, is_chosen=True) if has_baseline else None
    against = None
    if pair:
        in_turns = _took_turns(baseline) and _took_turns(arm)
        against = compare(campaign, pair, "" if in_turns else "mean").judged
    busy = [each for each in arm.counted if each.run.trust == Trust.BUSY]
    doubt = ""
    if busy:
        share = f"{len(busy)} of {counted(len(arm.counted), 'runs')} on a busy machine"
        doubt = f"{share}: {in_short(blame(busy[0].judged))}"
    return MatrixCell(
        name,
        arm.test.pk,
        mean_interval(values),
        against,
        is_short=len(values) < campaign.repeats and campaign.finished_at is not None,
        doubt=doubt,
    )


def _overall(
    campaign: Campaign, rows: _Rows, columns: dict[tuple, str], reference: tuple
) -> Iterator[MatrixRow]:
    """Geometric means over the plans of each place, of the targets with usable runs of all."""
    for place in dict.fromkeys(place for place, _ in rows):
        plans = [arms for (where, _), arms in rows.items() if where == place]
        if len(plans) > 1:
            cells = _over_cells(campaign, plans, columns, reference)
            yield MatrixRow(f"All {len(plans)} plans", tuple(cells), place=place)


def _over_cells(
    campaign: Campaign, plans: list[_Arms], columns: dict[tuple, str], reference: tuple
) -> Iterator[MatrixCell]:
    base = _sound_arms(campaign, plans, reference)
    for key, name in columns.items():
        arms = _sound_arms(campaign, plans, key)
        if not arms:
            yield MatrixCell(name, None, None, None, why=say("mean_of_plans"))
            continue
        mean_us = geometric_mean([fmean(means_us(campaign, arm).values()) for arm in arms])
        against = None
        if base and key != reference:
            sides = zip(base, arms, strict=True)
            times_us = [(means_us(campaign, old), means_us(campaign, new)) for old, new in sides]
            in_blocks = campaign.order == Campaign.Order.BLOCKS
            against = ratio_over_plans(times_us, in_blocks=in_blocks)
        yield MatrixCell(name, None, MeanInterval(mean_us), against)


def _sound_arms(campaign: Campaign, rows: list[_Arms], key: tuple) -> list[MeasuredTest]:
    """The column's test at each plan; [] unless all have usable runs."""
    arms = [row.get(key) for row in rows]
    is_sound = all(arm and arm.counted and arm.is_sound and means_us(campaign, arm) for arm in arms)
    return arms if is_sound else []


def _order(
    campaign: Campaign, arms: list[MeasuredTest], names: dict[int, str]
) -> Iterator[Neighbours]:
    took_turns = [arm for arm in arms if _took_turns(arm)]
    sound = took_turns or [arm for arm in arms if arm.n_usable >= MIN_REPEATS]
    metric = metric_of(sound)
    if took_turns:
        metric = typical_metric(each.figures for arm in sound for each in arm.comparable)

    def pair_result(faster: MeasuredTest, slower: MeasuredTest) -> PairResult:
        pair = ArmPair(slower, faster, is_chosen=True)
        return compare(campaign, pair, is_busy=metric != "mean").judged

    for first, second in pairwise(sorted(sound, key=lambda arm: arm.time_us(metric))):
        comparison = pair_result(first, second)
        if comparison.word is Word.SLOWER:  # by its rounds, or its geometric mean
            first, second, comparison = second, first, pair_result(second, first)
        row = comparison if comparison.has_size else replace(comparison, interval=None)
        yield Neighbours(names[first.test.pk], names[second.test.pk], row)
