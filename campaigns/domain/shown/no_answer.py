"""A measurement that is not usable has no answer: the first line says so, without a figure."""

from collections import Counter
from collections.abc import Iterable

from campaigns.domain.judged.judgement import Judgement
from campaigns.domain.units import counted

_NO_CPU = "the injector had no CPU"
_LATE = "the injector was too slow to react"
_UNSENT = "the injector did not send what was planned"
# What was wrong, by the code of the reason that decides.
CAUSES: dict[str, str] = {
    "own_time": _NO_CPU,
    "own_time_p99": _NO_CPU,
    "run_delay": _NO_CPU,
    "cpu": _NO_CPU,
    "cpu_5s": _NO_CPU,
    "throttled": "the injector's CPU quota was used up",
    "steal": "the hypervisor gave the injector's CPU to other machines",
    "other_cpu": "other programs used the injector's CPU",
    "lateness_p99": "the injector sent late",
    "hub_lag": _LATE,
    "hub_lag_p50": _LATE,
    "hub_lag_p99": _LATE,
    "gc_pause": _LATE,
    "gc_share": _LATE,
    "no_seconds": "the injector delivered no measurements",
    "lost_shards": "an injector process was lost",
    "missing_seconds": "too many seconds are missing",
    "open_files": "the injector ran short of open files",
    "ports": "the injector ran short of local ports",
    "injector_exhausted": "the injector ran out of open files or ports",
    "swapped": "the injector's machine swapped memory",
    "clock_step": "the injector's clock jumped",
    "starts_apart": "the injector processes did not start together",
    "link": "the injector's network link was full",
    "packets_lost": "the injector's machine lost packets",
    "little": "part of the waiting was not timed",
    "in_doubt": "replies could not be matched to their requests",
    "sent_share": _UNSENT,
    "dropped": _UNSENT,
    "slot_wait": _UNSENT,
}


def cause_words(judged: Iterable[Judgement], n_runs: int, nouns: str = "runs") -> str:
    """The most frequent cause in the judgements of runs that are not usable, of `n_runs` in all:
    "the injector had no CPU in 14 of 15 runs"."""
    causes = Counter(CAUSES[each.measurement.reasons[0].code] for each in judged)
    (cause, n_alike), *_ = causes.most_common(1)
    return f"{cause} in {n_alike} of {counted(n_runs, nouns)}" if n_runs > 1 else cause


def no_answer_words(judged: Iterable[Judgement], n_runs: int, *, so_far: bool = False) -> str:
    """ "No answer: the injector had no CPU in 14 of 15 runs"; without a count for one run."""
    return f"No answer{' so far' if so_far else ''}: {cause_words(judged, n_runs)}"
