"""Who was the limit of a run, with the figures behind it. Checks no permissions."""

from collections.abc import Sequence

from django.conf import settings

from campaigns.domain.judged.injector_vitals import observed_vitals
from campaigns.domain.judged.judgement import limits_with
from campaigns.domain.judged.limit import limit_of
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.measured.machine_use import MachineUse
from campaigns.domain.shown.limit_table import limit_table
from campaigns.domain.shown.tables import Table
from campaigns.models import Run
from campaigns.queries.measurements import of_latest_summary


def limit_of_run(run: Run, uses: Sequence[MachineUse], ok_per_s: float | None) -> Table | None:
    """None until the run is judged. `uses`: what the agents of its target told."""
    if not run.is_done or run.judged is None:
        return None
    plan, judged = run.frozen.plan, run.judged
    vitals = of_latest_summary(run, "vitals")
    return limit_table(
        limit_of(judged, uses, plan, ended_early=run.outcome != Outcome.COMPLETE),
        judged,
        observed_vitals(vitals or []),
        uses,
        (ok_per_s, plan.planned_rate_per_s),
        limits_with(settings.JUDGEMENT_LIMITS),
        plan.nouns,
    )
