"""Which runs lose their seconds by age, and what is kept of those seconds beside the summary."""

from datetime import date, datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from campaigns.compare.queries.columns import references_in, same_test_on
from campaigns.domain.lifecycle import RunState
from campaigns.models import Baseline, Run, RunSummary, RunUse, ShareLink, Test


def uses_to_thin(now: datetime, before: datetime) -> QuerySet[RunUse]:
    """Of runs that ended before this and still have seconds, those first whose removal was
    interrupted. Without runs of current baselines, runs that a live share link shows, and runs
    without a summary."""
    has_summary = Exists(RunSummary.objects.filter(run=OuterRef("run")))
    old = RunUse.objects.filter(
        has_summary, thinned_at=None, measured_at__lt=before, run__state=RunState.DONE
    )
    baselines = Baseline.objects.filter(replaced_at=None, runs__isnull=False).values("runs")
    rest = old.exclude(_shared(now)).exclude(run__in=baselines)
    thinned = RunUse.objects.filter(thinned_at__isnull=False)
    rows = RunUse.objects.filter(Q(pk__in=rest.values("pk")) | Q(pk__in=thinned.values("pk")))
    return rows.filter(seconds_bytes__gt=0).order_by("thinned_at", "pk")


def _shared(now: datetime) -> Q:
    links = ShareLink.objects.filter(revoked_at=None, expires_at__gt=now)
    pks: dict[str, set[int]] = {"campaign": set(), "run": set(), "test": set()}
    for campaign, run, comparison in links.values_list("campaign", "run", "comparison"):
        pks["campaign"].add(campaign)
        pks["run"].add(run)
        for noun, pk, days in references_in(comparison):
            pks[noun] |= _tests_on(pk, days) if days else {pk}
    campaigns, runs, tests = ({*of} - {None} for of in pks.values())
    return Q(run__in=runs) | Q(run__campaign__in=campaigns) | Q(run__test__in=tests)


def _tests_on(pk: int, days: tuple[date, date]) -> set[int]:
    test = Test.objects.select_related("plan_version").filter(pk=pk).first()
    same = Test.objects.filter(same_test_on(test, days)) if test else Test.objects.none()
    return set(same.values_list("pk", flat=True))


def kept_of(run: Run) -> dict[str, Any] | None:
    """What stays of a run's seconds beside its summary: the warm-up's total, and its injectors'
    parts where they were not all active together; None while the seconds are there."""
    thinned = RunUse.objects.filter(run=run, thinned_at__isnull=False)
    return thinned.values_list("kept", flat=True).first()


def why_no_seconds(run: Run) -> str:
    """Why the run's seconds cannot be read any more, in a sentence; "" while they can."""
    thinned = RunUse.objects.filter(run=run, thinned_at__isnull=False)
    at = thinned.values_list("thinned_at", flat=True).first()
    if at is None:
        return ""
    return (
        f"The seconds of run {run.label} were removed on {at:%-d %B %Y} because of their age. Its "
        "minutes, tables, series and histograms are kept."
    )
