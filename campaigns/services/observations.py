"""Facts about a finished run's injector hosts that only the database has."""

from campaigns.domain.judged.observations import hosts_of, is_loopback
from campaigns.domain.measured.injector_end import peers_of
from campaigns.models import InjectorHost, Run


def is_co_located(run: Run) -> bool:
    """Whether the run connected to an address of one of its injector hosts."""
    peers = hosts_of(list(peers_of(run.ends)))
    if any(is_loopback(peer) for peer in peers):
        return True
    names = {shard.host for shard in run.shards.all()}
    own = InjectorHost.objects.filter(name__in=names).values_list("facts", flat=True)
    return any(peer in facts.get("addresses", "").split() for facts in own for peer in peers)
