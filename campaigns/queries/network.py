"""What the network adds: the same requests to a target, from its own host and from elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from campaigns.domain.judged.repeats import MeanInterval, mean_interval
from campaigns.domain.shown.network import NetworkRow
from campaigns.models import Campaign
from campaigns.queries.arm_pairs import MeasuredTest

LOCAL, REMOTE = "local", "remote"


def network_rows(
    campaign: Campaign,
    rows: Mapping[tuple[str, str], Mapping[tuple, MeasuredTest]],
    columns: Sequence[tuple],
) -> Iterator[NetworkRow]:
    """A row for each remote plan with a local one of the same requests and load. `rows`: tests by
    place and plan, and by column."""
    near = {_sent(found): (plan, found) for (place, plan), found in rows.items() if place == LOCAL}
    for (place, plan), far in rows.items():
        if place == REMOTE and _sent(far) in near:
            local, found = near[_sent(far)]
            yield NetworkRow(
                plan,
                local,
                tuple(_difference(campaign, found.get(key), far.get(key)) for key in columns),
            )


def means_us(arm: MeasuredTest) -> dict[int, float]:
    """The mean of each run that counts, by its block."""
    return {each.run.repeat: each.figures.mean_us for each in arm.counted}


def _sent(tests: Mapping[tuple, MeasuredTest]) -> str:
    """What a row's plan sends, as text: two plans are alike if they send alike."""
    return repr(next(iter(tests.values())).test.plan_version.value())


def _difference(
    campaign: Campaign, near: MeasuredTest | None, far: MeasuredTest | None
) -> MeanInterval | None:
    """Within blocks, because a block's runs met the same conditions; else without an interval."""
    if not all(arm and arm.counted and arm.is_sound for arm in (near, far)):
        return None
    local, remote = means_us(near), means_us(far)
    both = [remote[block] - local[block] for block in local if block in remote]
    if both and campaign.order == Campaign.Order.BLOCKS:
        return mean_interval(both, is_signed=True)
    gap = fmean(remote.values()) - fmean(local.values())
    return MeanInterval(gap, 0, None, None, None)
