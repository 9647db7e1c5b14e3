"""Why a campaign's answer is as it is: intervals, thresholds, errors, what was left out.

Checks no permissions: callers pass what was read for rows found with visible_to.
"""

from collections.abc import Sequence

from campaigns.domain.judged.comparison import holm
from campaigns.domain.judged.trust import OWN_TAIL
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.measured.figures import Figures
from campaigns.domain.plan.target import counted_in
from campaigns.domain.shown.report_words import NO_ANSWER_GROUND, NO_ANSWER_SO_FAR, errors_text
from campaigns.domain.units import and_joined, counted, duration, percent, typed_percent
from campaigns.models import Campaign
from campaigns.queries.arm_pairs import MeasuredTest
from campaigns.queries.measured import MeasuredRun, why_each
from campaigns.queries.overheads import Overhead, set_aside_of

_COUNTED = ("errors", "attempts")
_INTERVALS = f"{percent(0.95, decimals=0)} intervals"


def grounds_of(
    campaign: Campaign,
    arms: Sequence[MeasuredTest],
    overheads: Sequence[Overhead],
    runs: Sequence[MeasuredRun],
    partial: MeasuredRun | None,
) -> list[str]:
    if partial:
        return [
            f"partial figures of run {partial.run.label}, which measured for "
            f"{duration(partial.measurement.duration_s)}"
        ]
    pooled = [figures for arm in arms if (figures := arm.pooled[1])]
    if not pooled and any(each.has_no_answer for each in runs):
        return [NO_ANSWER_GROUND if campaign.finished_at else NO_ANSWER_SO_FAR]
    if not pooled:
        return []
    grounds = _compared_grounds(campaign, arms, overheads, pooled, runs) if overheads else []
    grounds += _set_aside_ground(overheads, runs)
    grounds += _holm_ground(overheads)
    return grounds + _left_out_ground(runs) + _notes(runs)


def _compared_grounds(
    campaign: Campaign,
    arms: Sequence[MeasuredTest],
    overheads: Sequence[Overhead],
    pooled: Sequence[Figures],
    runs: Sequence[MeasuredRun],
) -> list[str]:
    """Without a comparison the sentence itself counts the errors."""
    errors, attempts = (sum(getattr(each, name) for each in pooled) for name in _COUNTED)
    left_out = sum(each.figures.attempts for each in runs if each.figures) - attempts
    return [
        _interval_ground(overheads[0]),
        f"practical threshold {typed_percent(campaign.practical_threshold)}",
        errors_text(errors, attempts, counted_in(arm.scheme for arm in arms))
        + (" of the runs that count" if left_out > 0 else ""),
        "primary metric: average, whose parts add up",
    ]


def _interval_ground(overhead: Overhead) -> str:
    if overhead.is_paired:
        return _blocks_ground(overhead)
    k = min(len(arm.counted) for arm in overhead.pair)
    if k < 2:
        return "no interval with fewer than two repeats"
    return f"{_INTERVALS} over {k} repeats of each"


def _blocks_ground(overhead: Overhead) -> str:
    """Such as "95 % intervals over 4 of 5 blocks, paired; run 12.7 cannot be used"."""
    paired = set.intersection(*({run.run.repeat for run in arm.counted} for arm in overhead.pair))
    done = {run.run.repeat for arm in overhead.pair for run in arm.runs if run.run.is_done}
    if len(done) < 2 or len(paired) < 2:
        return "no interval with fewer than two repeats"
    if paired == done:
        return f"{_INTERVALS} over {len(paired)} paired blocks"
    runs = (run for arm in overhead.pair for run in arm.runs)
    missing = [run.run.label for run in runs if run.run.is_done and not run.is_usable]
    named = f"; {_named(missing)} cannot be used" if missing else ""
    return f"{_INTERVALS} over {len(paired)} of {len(done)} blocks, paired{named}"


def _named(labels: Sequence[str]) -> str:
    """Such as "run 12.7", "runs 12.7 and 12.9"."""
    shown = [*labels[:3], f"{len(labels) - 3} more"] if len(labels) > 3 else list(labels)
    return f"{'runs' if len(shown) > 1 else 'run'} {and_joined(shown)}"


def _set_aside_ground(overheads: Sequence[Overhead], runs: Sequence[MeasuredRun]) -> list[str]:
    """Such as "run 12.7 is set aside, too far off the others"."""
    pks = {each.run_id for overhead in overheads for each in set_aside_of(overhead)}
    labels = [each.run.label for each in runs if each.run.pk in pks]
    if not labels:
        return []
    is_or_are = "is" if len(labels) == 1 else "are"
    return [f"{_named(labels)} {is_or_are} set aside, too far off the others"]


def _holm_ground(overheads: Sequence[Overhead]) -> list[str]:
    tested = [each.mean.interval for each in overheads if each.has_word and each.mean.interval]
    if len(tested) < 2:
        return []
    differing = sum(p < 0.05 for p in holm([interval.p_value for interval in tested]))
    return [f"{differing} of {len(tested)} comparisons differ after Holm's correction"]


def _left_out_ground(runs: Sequence[MeasuredRun]) -> list[str]:
    """Runs that did not end as planned; what else makes a run unusable is in the answers."""
    left_out = [each for each in runs if each.run.is_done and each.run.outcome != Outcome.COMPLETE]
    if not left_out:
        return []
    why = left_out[0].why_unusable
    alike = [each for each in left_out if each.why_unusable == why]
    where = f"{len(alike)} of {len(runs)} runs" if len(runs) > 1 else "the only run"
    others = len(left_out) - len(alike)
    more = f" {counted(others, 'other runs')} did not finish for another reason." if others else ""
    return [f"{where} did not finish. {why_each(alike)}{more}"]


def _notes(runs: Sequence[MeasuredRun]) -> list[str]:
    """Of each kind of note the one with the highest value, and how many runs have one.

    A weak tail is told where it is read, at its percentile: a quarter of sound runs have one.
    """
    every = (note for each in runs if each.judged for note in each.judged.notes)
    notes = [note for note in every if note.code != OWN_TAIL]
    found = []
    for code in dict.fromkeys(note.code for note in notes):
        alike = sorted((each for each in notes if each.code == code), key=lambda each: each.value)
        differ = len({each.text for each in alike}) > 1
        where = f"in {len(alike)} of {len(runs)} runs, at most: " if differ else ""
        found.append(where + alike[-1].text)
    return found
