"""The phases of a finished run: which injectors were active when, and their replies."""

from collections.abc import Iterator

from campaigns.domain.measured.phases import Part, Span, find_phases
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.phases_table import phases_table
from campaigns.domain.shown.tables import Table
from campaigns.models import Run
from campaigns.queries.retention import kept_of

# Injectors that begin together also end together, apart from chance.
_LEAST_SKEW_S = 1.0


def phases_of(run: Run, plan: Plan) -> Table:
    """No rows if all injectors began together and none ended much earlier than the others."""
    spans = _spans(run, plan) if run.is_done and run.n_shards > 1 else []
    if not _differ(spans, plan):
        return phases_table([])
    return phases_table(find_phases(spans, _parts(run)))


def parts_to_keep(run: Run) -> list[Part]:
    """What a finished run's phases are made from; [] if it has none."""
    has_phases = run.n_shards > 1 and _differ(_spans(run, run.frozen.plan), run.frozen.plan)
    return list(_parts(run)) if has_phases else []


def _spans(run: Run, plan: Plan) -> list[Span]:
    """[] if an injector did not report when it ended."""
    ends = [(shard.number, shard.injector_end.duration_us) for shard in run.shards.all()]
    if any(end is None for _, end in ends):
        return []
    return [
        Span(number, max(0.0, number * plan.load.start_offset_s - plan.warm_up_s), end / 1e6)
        for number, end in ends
    ]


def _differ(spans: list[Span], plan: Plan) -> bool:
    if not spans:
        return False
    ends = [span.end_s for span in spans]
    return plan.load.start_offset_s > 0 or max(ends) - min(ends) >= _LEAST_SKEW_S


def _parts(run: Run) -> Iterator[Part]:
    """The parts of all steps; no histogram is decoded."""
    if kept := kept_of(run):
        yield from (Part(*values) for values in kept["parts"])
        return
    rows = run.seconds.filter(second__gte=0).order_by("second", "shard")
    for row in rows.iterator(chunk_size=500):
        response = row.value().timings.get("response")
        if response and response.n:
            moments = (response.n, response.sum_us, response.min_us, response.max_us)
            yield Part(row.shard, row.second, *moments)
