"""What limited a search, from its trials. No permissions: the caller found its campaign."""

from collections.abc import Sequence

from django.conf import settings

from campaigns.domain.judged.busy import Busy, mean_busy
from campaigns.domain.judged.capacity import Ending, TrialResult
from campaigns.domain.judged.injector_vitals import observed_vitals
from campaigns.domain.judged.judgement import limits_with
from campaigns.domain.shown.capacity_limiter import Limiter, limiter_of, signs_of
from campaigns.domain.units import rate
from campaigns.models import RunSummary
from campaigns.queries.search_busy import BusyByRun
from campaigns.queries.searches import MadeTrial, SearchReport

_NEAR = 1.03  # the answer, as a factor


def busy_near(report: SearchReport, busy: BusyByRun) -> Busy:
    """How busy everyone was on average in the trials near the answer."""
    return mean_busy([busy[each.run.pk] for each in near_the_answer(report)])


def limiter_beside(report: SearchReport, near: Busy, *, with_machines: bool = True) -> Limiter:
    """With what the target's machine told of the trials near the answer. That is read each time:
    an agent may tell it after the search has ended."""
    limiter = limiter_of_search(report)
    return limiter.beside_machine(near) if with_machines else limiter.without_machine(report.host)


def limiter_of_search(report: SearchReport) -> Limiter:
    """Without the target's machine: as it was stored with the answer; else from the trials."""
    if report.search.answer is not None:
        return Limiter.from_json(report.search.answer["limiter"])
    return limiter_of(
        report.ending,
        [signs_of(each.run.verdicts, each.run.judged) for each in _failed(report)],
        [each.trial.reason for each in _doubtful(report)],
        _vitals_of(near_the_answer(report)),
        f"{rate(report.search.limit_per_s)} requests/s",
        limits_with(settings.JUDGEMENT_LIMITS),
    )


def near_the_answer(report: SearchReport) -> list[MadeTrial]:
    """The trials that say how busy everyone was: those that passed within 3 % of the answer, or at
    the highest rate; where none passed, the one that failed; those that do not count where the
    injectors were the limit."""
    if report.ending == Ending.INJECTOR:
        return _doubtful(report)
    passed = [each for each in report.made if each.trial.result == TrialResult.PASSED]
    passed.sort(key=lambda each: each.trial.rate_per_s)
    found = report.capacity
    rates = (found.rate_per_s / _NEAR, found.rate_per_s * _NEAR) if found else (0.0, 0.0)
    near = [each for each in passed if rates[0] <= each.trial.rate_per_s <= rates[1]]
    return near or passed[-1:] or _failed(report)[:1]


def _failed(report: SearchReport) -> list[MadeTrial]:
    return [each for each in report.made if each.trial.result == TrialResult.FAILED]


def _doubtful(report: SearchReport) -> list[MadeTrial]:
    """The last trials that do not count."""
    return [each for each in report.made if each.trial.result == TrialResult.UNTRUSTED][-2:]


def _vitals_of(made: Sequence[MadeTrial]) -> list[dict[str, float]]:
    summaries = RunSummary.objects.filter(run__in=[each.run for each in made])
    newest = summaries.order_by("run_id", "-revision").distinct("run_id")
    return [
        {code: seen.value for code, seen in observed_vitals(vitals).items()}
        for vitals in newest.values_list("vitals", flat=True)
    ]
