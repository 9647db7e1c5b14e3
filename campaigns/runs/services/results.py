"""The one place where it is known that results are new or others than before: on it hang histories,
baselines, the use of caps, what is cached, and viewers."""

import logging
from collections.abc import Callable
from functools import partial

from django.db import InterfaceError, OperationalError, transaction

from campaigns.core import queue
from campaigns.history.services.baselines import judge_by_baselines, note_changes
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Run
from campaigns.operations.services.caps import measure_use
from campaigns.runs.services.summaries import keep_figures

logger = logging.getLogger(__name__)


def changed(campaign: Campaign, run: Run | None = None) -> None:
    """The campaign has ended, or the `run` has, or late seconds made a new summary of it. May be
    called any number of times. Whatever goes wrong here, they have ended."""
    if run:
        _try("the history of its test", run, partial(keep_figures, [run.test_id]))
        _try("its use of caps", run, partial(measure_use, run))
    if campaign.finished_at:
        _try("verdicts against its baselines", campaign, partial(judge_by_baselines, campaign))
        _try("changes in histories", campaign, partial(note_changes, campaign_id=campaign.pk))
        queue.enqueue(queue.RESULTS, [campaign.pk])
    notify_viewers(run_id=run and run.pk, campaign_id=campaign.pk)


def _try(what: str, of: Campaign | Run, act: Callable[[], object]) -> None:
    try:
        with transaction.atomic():
            act()
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("%s of %s %s: not up to date", what, type(of).__name__.lower(), of.pk)
