"""What a finished run shows of each validity criterion, read from its summary."""

from campaigns.domain.judged.observations import Seen, hosts_of, is_loopback
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.measured.injector_end import peers_of
from campaigns.domain.measured.snapshot import Total
from campaigns.models import InjectorHost, Run, RunSummary


def seen_of(run: Run, summary: RunSummary, total: Total) -> Seen:
    return Seen(
        plan=run.frozen.plan,
        total=total,
        series=summary.series,
        vitals=summary.vitals,
        duration_s=summary.duration_s,
        is_whole=run.outcome in {None, Outcome.COMPLETE},
        is_co_located=is_co_located(run),
        starts_apart_us=starts_apart_us(run),
    )


def starts_apart_us(run: Run) -> float | None:
    """How far apart two injectors' starts may have been at most; None where there is only one."""
    errors = [end.start_error_us for end in run.ends]
    known = sorted(error for error in errors if error is not None)
    return float(sum(known[-2:])) if len(known) > 1 else None


def is_co_located(run: Run) -> bool:
    """Whether an address that was connected to is one of the injectors' own."""
    peers = hosts_of(list(peers_of(run.ends)))
    if any(is_loopback(peer) for peer in peers):
        return True
    names = {shard.host for shard in run.shards.all()}
    own = InjectorHost.objects.filter(name__in=names).values_list("facts", flat=True)
    return any(peer in facts.get("addresses", "").split() for facts in own for peer in peers)
