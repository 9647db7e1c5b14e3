"""A run is one repeat of one test; each of its shards is executed by one injector process.

States change only by compare-and-set in services; a trigger (migration 0028) refuses illegal moves.

What is stored of results once they are added up; all of it can be made again from them. What a
run uses of its project's caps: as planned, and what it has stored."""

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from campaigns.campaigns.models import Campaign, Test
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.thresholds import Verdict, threshold_state, weigh, without_machine
from campaigns.domain.lifecycle import (
    ACTIVE_STATES,
    LIVE_SHARD_STATES,
    Outcome,
    Precision,
    ShardState,
    TargetState,
    ThresholdState,
    Trust,
)
from campaigns.domain.lifecycle import RunState as State
from campaigns.domain.metrics.figures import read_whole
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.metrics.kept_requests import KeptRequests
from campaigns.domain.metrics.outcomes import without_addresses
from campaigns.domain.metrics.series import (
    Point,
    chunks_of,
    line_of,
    pack,
    points_of_chunks,
    second_of,
)
from campaigns.domain.metrics.snapshot import Second, Total
from campaigns.domain.plan.frozen_run import FrozenRun, version_of_parts, with_parts
from campaigns.plans.models import PlanVersion
from campaigns.projects.models import Project, ProjectQuerySet, SharedQuerySet
from campaigns.targets.models import Target


@lru_cache(maxsize=4)
def _spec_of(version: int) -> dict[str, Any]:
    """A version never changes, and a list may show many runs of one."""
    return PlanVersion.objects.values_list("spec", flat=True).get(pk=version)


IN_TURNS = models.Q(snapshot__has_key="turns")  # of runs: arms took turns


def _choices(kind) -> list[tuple[str, str]]:
    return [(str(each), str(each)) for each in kind]


class Run(models.Model):
    project_path = "campaign__project"

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="runs")
    test = models.ForeignKey(Test, models.CASCADE, related_name="runs")
    # Redundant with the test's endpoint; lets a unique index enforce one active run per target.
    target = models.ForeignKey(Target, models.PROTECT, related_name="runs")
    # Side by side: the run whose injector sends this one's load too. It claims, starts and stops
    # for all; triggers (migration 0003) move its followers and their shards with it until they end.
    leader = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="followers"
    )
    position = models.PositiveIntegerField()  # from 1: the order of execution
    repeat = models.PositiveIntegerField()  # from 1: the block
    # Of an arm that took turns before, by itself: for what its target's machine does meanwhile.
    is_alone = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=_choices(State), default=State.QUEUED)
    state_at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=10, choices=_choices(Outcome), null=True, blank=True)
    # The answers of its judgement, to filter by; null until it is summarised. Of an unjudged target
    # the state stays null.
    trust = models.CharField(max_length=10, choices=_choices(Trust), null=True, blank=True)
    target_state = models.CharField(
        max_length=10, choices=_choices(TargetState), null=True, blank=True
    )
    precision = models.CharField(max_length=10, choices=_choices(Precision), null=True, blank=True)
    # Figures of its latest summary, for histories of thousands of runs (Figures.to_row).
    n = models.PositiveBigIntegerField(null=True, blank=True)
    errors = models.PositiveBigIntegerField(null=True, blank=True)
    mean_us = models.FloatField(null=True, blank=True)
    typical_us = models.FloatField(null=True, blank=True)
    p50_us = models.FloatField(null=True, blank=True)
    p95_us = models.FloatField(null=True, blank=True)
    p99_us = models.FloatField(null=True, blank=True)
    lows_us = models.JSONField(default=dict)  # {"p95": its lower end}, where enough tell it
    # domain.analysis.judgement.Judgement with its reasons; read `judged`.
    judgement = models.JSONField(null=True, blank=True)
    snapshot = models.JSONField()  # domain.plan.frozen_run.FrozenRun; read `frozen`, which is whole
    # domain.plan.machines: no two active runs share one. None: its host name is not looked up yet.
    machines = ArrayField(models.CharField(max_length=64), null=True, blank=True)
    n_shards = models.PositiveIntegerField(default=1)
    t0 = models.DateTimeField(null=True, blank=True)  # when sending starts, warm-up included
    # Of a leader with several shards: when the rounds begin that all of them have, how many of
    # these it takes to look again whether all is settled, and the last one where it was.
    rounds_at = models.DateTimeField(null=True, blank=True)
    next_look = models.PositiveIntegerField(null=True, blank=True)
    last_round = models.PositiveIntegerField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    stop_requested = models.CharField(max_length=20, null=True, blank=True)  # user, kill, overrun …
    stop_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    barrier_failures = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True)  # a sentence, if it did not end as planned

    objects = SharedQuerySet.as_manager()

    # Of a row in memory: False for a reader who may not know what the target's machine did.
    shows_machine = True

    class Meta:
        ordering = ["-campaign_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "position"], name="one_run_per_position"),
            models.UniqueConstraint(
                fields=["test", "repeat", "is_alone"], name="one_run_per_repeat"
            ),
            models.UniqueConstraint(
                fields=["target"],
                condition=models.Q(state__in=sorted(ACTIVE_STATES), leader=None),
                name="one_active_run_per_target",
            ),
            models.CheckConstraint(
                condition=models.Q(state=State.DONE, outcome__isnull=False)
                | (~models.Q(state=State.DONE) & models.Q(outcome__isnull=True)),
                name="run_outcome_exactly_when_done",
            ),
        ]
        # What is not done stays few, however long the history.
        indexes = [
            models.Index(
                fields=["state", "campaign", "position"],
                condition=~models.Q(state=State.DONE),
                name="run_not_done",
            ),
            models.Index(fields=["campaign", "-ended_at"], name="run_by_end"),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """The name shown to people: campaign 119's fourteenth run is 119.14."""
        return f"{self.campaign_id}.{self.position}"

    @property
    def place(self) -> str:
        """Its block, or its number among the runs of a single arm."""
        return f"alone {self.repeat}" if self.is_alone else str(self.repeat)

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def is_done(self) -> bool:
        return self.state == State.DONE

    @property
    def whole_snapshot(self) -> dict[str, Any]:
        """The snapshot with the large parts of its plan, which only the plan's version stores."""
        plan = self.snapshot["plan"]
        version = version_of_parts(plan)
        if version is None:
            return self.snapshot
        return {**self.snapshot, "plan": with_parts(plan, _spec_of(version))}

    @cached_property
    def frozen(self) -> FrozenRun:
        """Plan, endpoint and all else that determines what is sent, as of when it was queued."""
        return FrozenRun.from_json(self.whole_snapshot)

    @property
    def judged(self) -> Judgement | None:
        """Its judgement; None until it is summarised."""
        if not self.judgement:
            return None
        judgement = Judgement.from_row(self.judgement)
        return judgement if self.shows_machine else judgement.without_machine()

    @property
    def told_reason(self) -> str:
        """Its reason, as the reader may know it: one for a refusal names an address."""
        if self.shows_machine or not self.reason:
            return self.reason
        return without_addresses(self.reason, self.frozen.endpoint.host)

    @property
    def verdicts(self) -> list[Verdict]:
        """On its plan's rules, by its summary; `queries.runs.with_verdicts` reads those of many
        runs at once."""
        return self.shown_of(self._verdicts)

    @cached_property
    def _verdicts(self) -> list[Verdict]:
        if "stored_thresholds" in self.__dict__:
            rows = self.stored_thresholds
        else:
            own = Run.objects.filter(pk=self.pk)
            rows = own.values_list("summary__thresholds", flat=True).first()
        return [Verdict.from_json(each) for each in rows or ()]

    def shown_of(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """Those that the reader may know, as far as the run can decide them."""
        rows = verdicts if self.shows_machine else without_machine(verdicts)
        return weigh(rows, self.trust)

    @property
    def threshold_state(self) -> ThresholdState | None:
        return threshold_state(self.verdicts) if self.is_done else None

    @property
    def has_found_limit(self) -> bool:
        """Whether its target was overloaded by a load that looks for the limit."""
        return self.target_state == TargetState.OVERLOADED and self.frozen.plan.seeks_limit

    @property
    def ends(self) -> list[InjectorEnd]:
        """Each injector's end line, in shard order."""
        return [shard.injector_end for shard in self.shards.all()]

    @staticmethod
    def shared(link) -> models.Q:
        """A run's link shows only that run; a campaign's link shows no run pages."""
        return models.Q(pk=link.run_id) if link.run_id else models.Q(pk__in=[])


class Shard(models.Model):
    run = models.ForeignKey(Run, models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()  # from 0
    state = models.CharField(max_length=10, choices=_choices(ShardState), default=ShardState.OPEN)
    # The fencing number: grows with each claim; holders of an older one cannot write.
    epoch = models.PositiveIntegerField(default=0)
    worker = models.CharField(max_length=150, blank=True)
    host = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    last_second = models.IntegerField(null=True, blank=True)
    # Of several whose arms take turns: the pace that this one has found, with `clock_error_us`.
    pace = models.JSONField(null=True, blank=True)
    # The injector's own end line; read `injector_end`.
    end = models.JSONField(null=True, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["run_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_shard_per_number"),
            models.CheckConstraint(
                condition=~models.Q(state__in=sorted(LIVE_SHARD_STATES))
                | (~models.Q(worker="") & models.Q(lease_until__isnull=False)),
                name="live_shard_has_a_lease",
            ),
        ]
        indexes = [
            models.Index(
                fields=["lease_until"],
                condition=models.Q(state__in=sorted(LIVE_SHARD_STATES)),
                name="shard_by_lease",
            )
        ]

    def __str__(self) -> str:
        return f"{self.run.label} shard {self.number}"

    @property
    def injector_end(self) -> InjectorEnd:
        """Its injector's end line; empty if it has not ended."""
        return InjectorEnd.from_json(self.end)


class ShardSecond(models.Model):
    """What one shard measured in one second at one step. Immutable; may be written twice."""

    # In this order its index serves all: what came since a second, and pages in their order.
    pk = models.CompositePrimaryKey("run_id", "second", "step", "shard")
    run = models.ForeignKey(Run, models.CASCADE, related_name="seconds", db_index=False)
    shard = models.PositiveIntegerField()
    second = models.IntegerField()
    step = models.PositiveIntegerField()
    epoch = models.PositiveIntegerField()
    packed = models.BinaryField()  # domain.metrics.series

    def __str__(self) -> str:
        return f"run {self.run_id} shard {self.shard} second {self.second} step {self.step}"

    @classmethod
    def of(cls, line: Mapping[str, Any], *, run_id: int, shard: int, epoch: int) -> "ShardSecond":
        """A new row of an injector's line."""
        place = {"run_id": run_id, "shard": shard, "epoch": epoch}
        return cls(**place, second=line["second"], step=line["step"], packed=pack(line))

    def value(self) -> Second:
        """Histograms are decoded when their counts are asked for."""
        return second_of(self.second, self.step, self.packed)

    @property
    def line(self) -> dict[str, Any]:
        """As in the injector's line, without its examples."""
        return line_of(self.second, self.step, self.packed)


class RequestsOfShard(models.Model):
    """The single requests of a run that one shard kept. Immutable; may be written twice."""

    pk = models.CompositePrimaryKey("run_id", "shard")
    run = models.ForeignKey(Run, models.CASCADE, related_name="kept_requests", db_index=False)
    shard = models.PositiveIntegerField()
    packed = models.BinaryField()  # domain.metrics.kept_requests

    def __str__(self) -> str:
        return f"requests of run {self.run_id} shard {self.shard}"

    def value(self) -> KeptRequests:
        return KeptRequests.unpack(self.packed, self.shard)


class Round(models.Model):
    """What arms that take turns did in a round of one shard. Immutable; may be written twice."""

    pk = models.CompositePrimaryKey("run_id", "number", "shard")
    run = models.ForeignKey(Run, models.CASCADE, related_name="rounds", db_index=False)  # leader
    number = models.PositiveIntegerField()  # from 0
    shard = models.PositiveIntegerField(default=0)
    line = models.JSONField()  # domain.metrics.injector_end.ArmsRound

    def __str__(self) -> str:
        return f"round {self.number} of run {self.run_id}"


class FailureExample(models.Model):
    """A failed request and its reply, without secrets. May be written twice; never shared."""

    project_path = "run__campaign__project"

    run = models.ForeignKey(Run, models.CASCADE, related_name="failure_examples")
    shard = models.PositiveIntegerField()
    second = models.IntegerField()
    step = models.PositiveIntegerField()
    kind = models.CharField(max_length=40)
    status = models.PositiveIntegerField()  # 0 without a whole reply
    at_us = models.BigIntegerField()  # from the start of the measurement
    request = models.TextField()
    reply = models.TextField()
    body_bytes = models.BigIntegerField(
        null=True
    )  # of the whole body, of which 2 kB are in `reply`
    detail = models.TextField()

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["at_us", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "shard", "second", "step", "kind", "status"],
                name="one_example_per_second",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of run {self.run_id} in second {self.second}"


class RunEvent(models.Model):
    """A run's change of state, recorded by a database trigger."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=40)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]
        # What the dispatcher looks for every few seconds (services.endings).
        indexes = [
            models.Index(
                fields=["kind", "at"],
                condition=models.Q(kind__in=["late_seconds", "summary_failed"]),
                name="event_to_answer",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of run {self.run_id}"


class RunSummary(models.Model):
    """A run's result, derived from its stored seconds; late ones write it again."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="summary")
    version = models.PositiveIntegerField(default=1)  # how often it was written
    n_seconds = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    duration_s = models.FloatField()  # the measured part
    # All steps together without warm-up, as domain.metrics.brief; and the histogram of each timing.
    figures = models.JSONField()
    histograms = models.JSONField()
    steps = models.JSONField()  # [Total, …] in plan step order
    # A domain.metrics.series.Point per second, read as `series`: domain.metrics.series
    chunks = ArrayField(models.BinaryField())
    vitals = models.JSONField()  # per shard: the worst of each vital
    failures = models.JSONField(default=list)  # one domain.metrics.outcomes.FailureRow each
    thresholds = models.JSONField(default=list)  # one analysis.thresholds.Verdict each
    made_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"summary {self.version} of run {self.run_id}"

    @property
    def total(self) -> Total:
        return read_whole(self.figures, self.histograms)

    @property
    def series(self) -> list[Point]:
        """Read anew each time, for a long run has many."""
        return points_of_chunks(self.chunks)

    @series.setter
    def series(self, points: list[Point]) -> None:
        self.chunks = chunks_of(points)


class RunUse(models.Model):
    """Written when the run is queued, and measured when it has ended. The project repeats the
    campaign's, so that its sum reads one narrow table."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="use")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    planned_s = models.FloatField(default=0)  # of load; 0 where only the target decides
    planned_bytes = models.BigIntegerField(default=0)
    n_seconds = models.BigIntegerField(default=0)
    seconds_bytes = models.BigIntegerField(default=0)
    summary_bytes = models.BigIntegerField(default=0)
    example_bytes = models.BigIntegerField(default=0)
    output_bytes = models.BigIntegerField(
        default=0
    )  # what tools printed; people add it at any time
    measured_at = models.DateTimeField(null=True)
    # When retention removed its seconds; its summaries stay.
    thinned_at = models.DateTimeField(null=True)
    kept = models.JSONField(null=True)  # what pages read of them; queries.runs.kept_of

    class Meta:
        indexes = [
            models.Index(
                fields=["measured_at"],
                condition=models.Q(thinned_at=None),
                name="use_with_seconds_by_age",
            )
        ]

    def __str__(self) -> str:
        return f"use of run {self.run_id}"


class KeptMinute(models.Model):
    """What stays of a minute of a run at one step when retention removes its seconds: all of them
    and all shards added up, histograms included."""

    pk = models.CompositePrimaryKey("run_id", "minute", "step")
    run = models.ForeignKey(Run, models.CASCADE, related_name="minutes", db_index=False)
    minute = models.IntegerField()  # its seconds are those from 60 · minute on
    step = models.PositiveIntegerField()
    # domain.metrics.series, without what is of one instant: vitals and requests in flight.
    packed = models.BinaryField()

    def __str__(self) -> str:
        return f"run {self.run_id} minute {self.minute} step {self.step}"

    @property
    def line(self) -> dict[str, Any]:
        """As `Total.to_json`, with HdrHistogram's payloads."""
        line = line_of(self.minute, self.step, self.packed)
        return {name: line[name] for name in ("counters", "errors", "statuses", "timings")}
