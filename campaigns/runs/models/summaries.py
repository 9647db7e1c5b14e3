"""What is stored of results once they are added up; all of it can be made again from them. What a
run uses of its project's caps: as planned, and what it has stored."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from campaigns.domain.metrics.figures import read_whole
from campaigns.domain.metrics.packed_second import line_of
from campaigns.domain.metrics.series import Point, chunks_of, points_of_chunks
from campaigns.domain.metrics.snapshot import Total
from campaigns.projects.models import Project
from campaigns.runs.models.runs import Run


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
    failures = models.JSONField(default=list)  # one domain.metrics.failures.FailureRow each
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
    kept = models.JSONField(null=True)  # what pages read of them; queries.retention.kept_of

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
    # domain.metrics.packed_second, without what is of one instant: vitals and requests in flight.
    packed = models.BinaryField()

    def __str__(self) -> str:
        return f"run {self.run_id} minute {self.minute} step {self.step}"

    @property
    def line(self) -> dict[str, Any]:
        """As `Total.to_json`, with HdrHistogram's payloads."""
        line = line_of(self.minute, self.step, self.packed)
        return {name: line[name] for name in ("counters", "errors", "statuses", "timings")}
