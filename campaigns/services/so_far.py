"""Keeps what runs under way have measured, added up, for the process that shows one next."""

import logging
from collections.abc import Callable
from math import ceil

from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.models import Max

from campaigns.domain.lifecycle import RunState
from campaigns.models import MeasuredSoFar, Run
from campaigns.queries.measurements import measurement_so_far
from campaigns.queries.release import release

logger = logging.getLogger(__name__)

# A process adds up fewer seconds than this soon enough by itself.
WORTH_S = 30
PORTION_S = 60  # added up before somebody asks whether the time is over


def keep_so_far(*, is_over: Callable[[], bool]) -> int:
    """Until `is_over`, those first of which most is missing; how many runs were kept. What is not
    done goes on at the next call, and may be done any number of times."""
    MeasuredSoFar.objects.filter(run__state=RunState.DONE).delete()
    n_kept = 0
    for run in _behind():
        if is_over():
            break
        try:
            n_kept += _keep(run, is_over)
        except (OperationalError, InterfaceError):
            raise
        except DatabaseError:  # such as a run that was deleted meanwhile
            logger.warning("What run %s measured so far was not kept", run.pk, exc_info=True)
    return n_kept


def _behind() -> list[Run]:
    """Runs that send, the furthest behind first, with `reached`, the last second that any injector
    has delivered, and `kept`, the last one that is kept."""
    known = dict(
        MeasuredSoFar.objects.filter(release=release()).values_list("run_id", "last_second")
    )
    sending = Run.objects.filter(state=RunState.RUNNING, t0__isnull=False)
    found = list(sending.annotate(reached=Max("shards__last_second")).filter(reached__gte=0))
    for run in found:
        run.kept = known.get(run.pk, -ceil(run.frozen.plan.warm_up_s) - 1)
    behind = [run for run in found if run.reached - run.kept >= WORTH_S]
    return sorted(behind, key=lambda run: run.kept - run.reached)


def _keep(run: Run, is_over: Callable[[], bool]) -> bool:
    measured, until = None, run.kept
    while measured is None or (until < run.reached and not is_over()):
        until += PORTION_S
        measured = measurement_so_far(run, measured, until=until)
    if not measured.series:
        return False
    columns = MeasuredSoFar.columns_of(measured.state(), measured.series)
    MeasuredSoFar.objects.bulk_create(
        [MeasuredSoFar(run=run, release=release(), **columns)],
        update_conflicts=True,
        unique_fields=["run"],
        update_fields=["release", *columns],
    )
    return True
