"""Ends runs: outcome, reason and summary; and handles late seconds. Stops a campaign by itself:
after a run in which everything failed, more would say the same. Stop runs: the request is stored
beside the state, and the dispatcher acts on it. Launchers are called through Redis before that; one
that did not hear the call reads the request. So a stop is quick where every statement takes a
second."""

import json
import logging
from dataclasses import asdict, dataclass
from typing import Self

import redis
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Max, Q
from django.db.models.functions import Now

from campaigns.core import audit
from campaigns.core.database import db_now
from campaigns.core.permissions import Action, Actor, require, require_administrator
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import (
    ACTIVE_STATES,
    BY_ITSELF,
    MAX_AGE_S,
    Outcome,
    RunState,
    ShardState,
    StopReason,
    own_sentence,
)
from campaigns.domain.lifecycle import ShardState as Part
from campaigns.domain.metrics.outcomes import everything_failed, failure_words
from campaigns.domain.plan.estimates import longest_run_s
from campaigns.engine.services.shards import LATE_SECONDS, LATE_SECONDS_FOR_S
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Run, RunEvent, Shard
from campaigns.operations.models import AuditEvent
from campaigns.runs.queries.measurements import stored_measurement, summary_of
from campaigns.runs.services import publish_results, summarise_run

logger = logging.getLogger(__name__)

CHANNEL = "benchsite:stops"
TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True)
class StopCall:
    """Of one run, of a campaign, or of all load, where neither is named."""

    reason: str  # a StopReason
    run: int | None = None
    campaign: int | None = None

    def is_for(self, run: int, campaign: int) -> bool:
        if self.run is None and self.campaign is None:
            return True
        return self.run == run or self.campaign == campaign

    @classmethod
    def read(cls, text: bytes) -> Self | None:
        """None for what is no call."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            return None


def call(*stops: StopCall) -> None:
    """Whoever calls has checked that it may. Without Redis it returns within half a second, however
    many there are."""
    try:
        with client(TIMEOUT_S) as connection:
            for stop in stops:
                connection.publish(CHANNEL, json.dumps(asdict(stop)))
    except (redis.RedisError, OSError) as error:
        logger.warning("Redis does not answer, the stop goes through PostgreSQL only: %s", error)


def client(timeout_s: float) -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        protocol=2,
        retry=None,
        socket_timeout=timeout_s,
        socket_connect_timeout=TIMEOUT_S,
    )


# Nothing is sent any more: a stop request would only change the outcome.
OVER = frozenset({RunState.FINALIZING, RunState.DONE})
STOPPED_BEFORE = "Stopped before it started."


def stop_run(*, by: Actor, run: Run) -> None:
    """Stop one run: a queued one ends at once, an active one stops sending within a second. A run
    that is already being stopped stays as it is. Raises Refused for one that is done."""
    require(by, Action.STOP, run.campaign.project)
    _stop(run, StopReason.USER, by)


def stop_any_run(*, by: Actor, run: Run) -> None:
    """As `stop_run`, for an administrator of the installation, whatever project the run is of."""
    require_administrator(by)
    _stop(run, StopReason.ADMINISTRATOR, by)


def _stop(run: Run, why: StopReason, by: Actor) -> None:
    call(StopCall(why, run=run.leader_id or run.pk))
    with transaction.atomic():
        whole = Run.objects.filter(pk=run.leader_id or run.pk)  # which takes its followers along
        lock_runs(whole)
        if not end_queued(whole, Outcome.STOPPED, STOPPED_BEFORE):
            request_stop(whole, why, by=by.user)
            if Run.objects.filter(pk=run.pk, state__in=OVER).exists():
                raise Refused(f"Run {run.label} has already ended.")
        audit.note(by, AuditEvent.RUN_STOPPED, f"run {run.label}", project=run.campaign.project)


def lock_runs(runs) -> None:
    """Keep the dispatcher from advancing these runs until the transaction ends. Otherwise a run
    could go from queued to active between the two queries and be missed by both. Not those that
    have stopped sending: there is nothing to stop, and a summary locks its run."""
    rows = runs.exclude(state__in=OVER).select_for_update(no_key=True, of=("self",))
    list(rows.order_by("pk").values_list("pk"))


def request_stop(runs, why: StopReason, by=None) -> int:
    """Store the stop request in the active ones among `runs`; the first request wins."""
    stopping = runs.filter(state__in=ACTIVE_STATES - OVER, stop_requested=None)
    rows = list(stopping.values_list("pk", "campaign_id"))
    n_asked = stopping.update(stop_requested=why, stop_requested_by=by)
    for run_id, campaign_id in rows:
        notify_viewers(run_id=run_id, campaign_id=campaign_id)
    return n_asked


def end_queued(runs, outcome: Outcome, reason: str) -> int:
    """End the queued ones among `runs` without running them; returns their number."""
    waiting = list(runs.filter(state=RunState.QUEUED).values_list("pk", "campaign_id"))
    pks = [pk for pk, _ in waiting]
    n_ended = Run.objects.filter(pk__in=pks, state=RunState.QUEUED).update(
        state=RunState.DONE, outcome=outcome, reason=reason, ended_at=Now()
    )
    ended_runs = Run.objects.filter(pk__in=pks, state=RunState.DONE)
    Shard.objects.filter(run__in=ended_runs, state=ShardState.OPEN).update(
        state=ShardState.CANCELLED
    )
    for run_id, campaign_id in waiting:
        notify_viewers(run_id=run_id, campaign_id=campaign_id)
    return n_ended


SUMMARISED = "summarised"
SUMMARY_FAILED = "summary_failed"
RETRY_SUMMARY_S = 10.0
LATE_RETRY_S = 600.0


def finalise_runs() -> int:
    """Summarise every run that stopped sending and set its outcome."""
    failed_lately = RunEvent.objects.filter(kind=SUMMARY_FAILED, at__gt=db_now(-RETRY_SUMMARY_S))
    waiting = Run.objects.filter(state=RunState.FINALIZING).exclude(events__in=failed_lately)
    return sum(_finalise(run) for run in waiting)


def _finalise(run: Run) -> bool:
    up_to = _last_late_note(run)
    outcome, reason = _outcome(run)
    run.outcome = outcome  # the judgement depends on the outcome
    error = _summarise(run, up_to)
    if error is None:
        if outcome == Outcome.COMPLETE:
            stop_if_everything_failed(run)  # before its end, with which the next one may begin
        return _end(run, outcome, reason)
    overdue = Run.objects.filter(pk=run.pk, state_at__lt=db_now(-MAX_AGE_S[RunState.FINALIZING]))
    if not overdue.exists():
        return False
    reason = f"The summary failed ({error}). The measured seconds are kept."
    return _end(run, Outcome.FAILED, reason)


def _end(run: Run, outcome: Outcome, reason: str) -> bool:
    with transaction.atomic():
        n_rows = Run.objects.filter(pk=run.pk, state=RunState.FINALIZING).update(
            state=RunState.DONE, outcome=outcome, reason=reason, ended_at=Now()
        )
        if n_rows:
            publish_results(run.campaign, run)
    return bool(n_rows)


def summarise_late_runs() -> int:
    """Recompute the summaries of runs that received late seconds."""
    notes = (
        RunEvent.objects.filter(kind=LATE_SECONDS, at__gt=db_now(-LATE_SECONDS_FOR_S))
        .filter(run__state=RunState.DONE)
        .order_by()
        .values_list("run")
        .annotate(last=Max("pk"))
    )
    n_made = 0
    for run_id in _without_summary(dict(notes)):
        # A run that failed because it had no seconds becomes partial once it has some. Why it
        # ended may be known better by now.
        run = Run.objects.select_related("campaign").get(pk=run_id)
        up_to = _last_late_note(run)
        outcome, run.reason = _outcome(run)
        if run.outcome == Outcome.FAILED:
            run.outcome = outcome
        Run.objects.filter(pk=run.pk).update(outcome=run.outcome, reason=run.reason)
        n_made += _summarise(run, up_to) is None
        publish_results(run.campaign, run)
    return n_made


def _without_summary(last_notes: dict[int, int]) -> list[int]:
    """The runs whose last note no summary covers, nor a failure of a moment ago; one statement."""
    if not last_notes:
        return []
    failed = Q(kind=SUMMARY_FAILED, at__gt=db_now(-LATE_RETRY_S))
    answers = RunEvent.objects.filter(Q(kind=SUMMARISED) | failed, run__in=last_notes)
    pks_with_summary = {
        run_id
        for run_id, kind, up_to in answers.values_list("run", "kind", "data__up_to")
        if kind == SUMMARY_FAILED or up_to >= last_notes[run_id]
    }
    return sorted(last_notes.keys() - pks_with_summary)


def _summarise(run: Run, up_to: int) -> str | None:
    """Compute the run's summary; returns what went wrong, or None. `up_to`: the last note of late
    seconds that it covers. The note is read before seconds and reasons, so that what arrives in
    between is not taken as covered."""
    try:
        summarise_run(run)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:  # whatever it is, the run must end with a reason
        logger.exception("No summary of run %s", run.pk)
        RunEvent.objects.create(run=run, kind=SUMMARY_FAILED, data={"error": repr(error)})
        return repr(error)
    RunEvent.objects.create(run=run, kind=SUMMARISED, data={"up_to": up_to})
    return None


@transaction.atomic
def _last_late_note(run: Run) -> int:
    """Reads under the run's lock, which writers of notes also take, so that none is missed."""
    Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    notes = RunEvent.objects.filter(run=run, kind=LATE_SECONDS)
    return notes.aggregate(last=Max("pk"))["last"] or 0


def _outcome(run: Run) -> tuple[Outcome, str]:
    """Outcome and reason; precedence: killed, stopped, no data, partial."""
    run.refresh_from_db(fields=["stop_requested", "stop_requested_by"])
    shards = list(run.shards.order_by("number"))
    sentences = []
    if run.stop_requested is not None:
        stop_reason, limit_s = StopReason(run.stop_requested), None
        if stop_reason == StopReason.OVERRUN:
            plan, turns = run.frozen.plan, run.frozen.turns
            exchange = plan.exchange and plan.exchange.to_json()
            settings = plan.load, plan.timeouts, plan.warm_up_s, run.n_shards, exchange
            limit_s = longest_run_s(*settings, plan.longest_session, turns and turns.limit_s)
        sentences.append(stop_reason.sentence.format(limit_s=limit_s))
    for each in shards:
        is_lost = each.state == Part.LOST
        words = each.reason if is_lost else own_sentence(each.injector_end.reason)
        if words:
            name = (
                f"Injector process {each.number + 1} of {len(shards)}: " if len(shards) > 1 else ""
            )
            sentences.append(f"{name}{words}")
    reason = " ".join(filter(None, sentences))
    if run.stop_requested == StopReason.KILL:
        return Outcome.KILLED, reason
    if run.stop_requested in (StopReason.USER, StopReason.ADMINISTRATOR):
        return Outcome.STOPPED, reason
    if not run.seconds.exists():
        return Outcome.FAILED, reason or "The injector recorded no measurements."
    if run.stop_requested is None and any(map(_was_called_to_stop, shards)):
        return Outcome.STOPPED, reason or StopReason.USER.sentence
    is_whole = all(shard.state == Part.DONE and shard.injector_end.is_complete for shard in shards)
    if is_whole and run.stop_requested is None:
        return Outcome.COMPLETE, ""
    return Outcome.PARTIAL, reason or "An injector ended before it had finished its share."


def _was_called_to_stop(shard: Shard) -> bool:
    """By a call that was heard before the request for a stop was stored."""
    end = shard.injector_end
    return shard.state == Part.DONE and end.outcome == "stopped" and end.reason not in BY_ITSELF


def stop_if_everything_failed(run: Run) -> bool:
    """Cancel the campaign's queued runs, with a sentence that says why; whether it did."""
    campaign = Campaign.objects.get(pk=run.campaign_id)
    waiting = campaign.runs.filter(state=RunState.QUEUED)
    if campaign.keeps_going or not waiting.exists():
        return False
    summary = summary_of(run)
    if summary is None:
        return False
    measurement = stored_measurement(run, summary)
    failures, attempts = measurement.failures, measurement.figures.attempts
    if not everything_failed(failures, attempts):
        return False
    words = failure_words(failures, attempts, measurement.plan.nouns)
    return stop_by_itself(campaign, f"Stopped after run {run.position}: {words}.")


@transaction.atomic
def stop_by_itself(campaign: Campaign, reason: str) -> bool:
    """Cancel what is queued; `reason` is a sentence. False if somebody has stopped it before."""
    going_on = Campaign.objects.filter(pk=campaign.pk, stop_requested_at=None, finished_at=None)
    if not going_on.update(stop_requested_at=Now(), stop_reason=reason):
        return False
    # The campaign before its runs, like whoever stops it: else the two could wait for each other.
    lock_runs(campaign.runs.all())
    end_queued(campaign.runs.all(), Outcome.STOPPED, reason)
    notify_viewers(campaign_id=campaign.pk)
    return True
