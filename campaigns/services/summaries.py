"""A run's summary: derived from its seconds, made again whenever late ones arrive."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction

from campaigns.domain.judged.observations import headline_us, observe
from campaigns.domain.judged.thresholds import Judge
from campaigns.domain.judged.validity import judge, limits_with
from campaigns.domain.lifecycle import Outcome, ShardState, Validity
from campaigns.domain.measured.series import points_of, vitals_of
from campaigns.domain.measured.snapshot import Second, Total
from campaigns.domain.plan.load import planned_duration_s
from campaigns.models import Run, RunSummary, Shard, ShardSecond
from campaigns.services.observations import seen_of


@transaction.atomic
def summarise_run(run: Run) -> RunSummary:
    """Merge the run's seconds into a summary and judge the run by it.

    Idempotent: with the same seconds the summary stays, with others there is a new revision.
    """
    # Not the key: late seconds, which refer to the run, must not wait for this.
    Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    plan = run.frozen.plan
    merging = _Merging(n_steps=len(plan.labels), judge=Judge(plan.thresholds))
    shards = list(run.shards.all())
    series = list(points_of(merging.read(run), _last_seconds(shards)))
    latest = run.summaries.order_by("-revision").first()
    summary = latest
    if latest is None or latest.digest != merging.digest.hexdigest():
        duration_s = measured_s(run, shards, series)
        summary = RunSummary.objects.create(
            run=run,
            revision=latest.revision + 1 if latest else 1,
            n_seconds=merging.n_rows,
            digest=merging.digest.hexdigest(),
            duration_s=duration_s,
            total=merging.total.to_json(),
            steps=[step.to_json() for step in merging.steps],
            series=series,
            vitals=merging.vitals(shards),
            thresholds=[
                verdict.to_json() for verdict in merging.judge.verdicts(merging.total, duration_s)
            ],
        )
    run.validity, run.validity_reasons = judge_run(run, summary)
    Run.objects.filter(pk=run.pk).update(
        validity=run.validity, validity_reasons=run.validity_reasons
    )
    return summary


def judge_run(run: Run, summary: RunSummary) -> tuple[Validity, list[dict[str, Any]]]:
    """Whether the run's numbers may be believed, and the reasons, worst first."""
    total = Total.from_json(summary.total)
    observed = observe(seen_of(run, summary, total))
    return judge(observed, limits_with(settings.VALIDITY_LIMITS), headline_us(total))


def measured_s(run: Run, shards: list[Shard], series: list[dict[str, Any]]) -> float:
    """Seconds from the start of the measurement to the end of its last request.

    The injectors say it exactly (`duration_us` of their end line). Where one could not, seconds
    tell it as well as they can: the plan's own duration if the last request ended in that second,
    else the end of the last second in which a request ended.
    """
    exact = [shard.injector_end.duration_us for shard in shards]
    if exact and all(value is not None for value in exact):
        return max(exact) / 1e6
    ended = [
        point["second"]
        for point in series
        if point["second"] >= 0 and point["ok"] + point["failed"] + point["dropped"]
    ]
    if not ended:
        return 0.0
    planned = planned_duration_s(run.frozen.plan.load)
    if planned is not None and run.outcome in {None, Outcome.COMPLETE}:
        return float(min(max(planned, ended[-1]), ended[-1] + 1))
    return float(ended[-1] + 1)


@dataclass(slots=True)
class _Merging:
    """Everything that one pass over the rows collects. The warm-up is in no total."""

    n_steps: int
    judge: Judge
    n_rows: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    total: Total = field(default_factory=Total)
    steps: list[Total] = field(default_factory=list)
    samples: dict[int, list[tuple[int, dict]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = [Total() for _ in range(self.n_steps)]

    def read(self, run: Run) -> Iterator[tuple[int, Second]]:
        """Pass the run's (shard, second) pairs on, ordered by second, and add them up."""
        rows = run.seconds.order_by("second", "shard", "step")
        present = -1
        for row in rows.iterator(chunk_size=500):
            second = row.value()
            if second.second > present >= 0:
                self.judge.look(present, self.total)
            present = second.second
            self.n_rows += 1
            self.digest.update(_fingerprint(row))
            if second.second >= 0:
                self._add(row.shard, second)
            yield row.shard, second

    def _add(self, shard: int, second: Second) -> None:
        if second.step < self.n_steps:
            self.steps[second.step].add(second)
        self.total.add(second)
        if second.vitals:
            self.samples.setdefault(shard, []).append((second.second, second.vitals))

    def vitals(self, shards: list[Shard]) -> list[dict[str, Any]]:
        return [
            {**vitals_of(self.samples.get(shard.number, []), shard.number), "host": shard.host}
            for shard in shards
        ]


def _fingerprint(row: ShardSecond) -> bytes:
    """What the row holds, as bytes that are the same whenever it holds the same."""
    values = (
        row.shard,
        row.second,
        row.step,
        row.counters,
        row.errors,
        row.statuses,
        row.in_flight,
        row.timings,
        row.vitals,
    )
    return json.dumps(values, sort_keys=True).encode()


def _last_seconds(shards: list[Shard]) -> dict[int, int | None]:
    """Each shard's last second; None for a lost one, which owes the rest."""
    return {
        shard.number: shard.last_second if shard.state == ShardState.DONE else None
        for shard in shards
    }
