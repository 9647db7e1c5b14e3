"""Where load of a project may go: listed networks, and hosts that are shown to be its own. Proofs
and approvals count only where `PROOF_DAYS` is set: on a server. Checks no permissions: callers pass
rows found with visible_to.

Where the installation's own servers listen: no load is sent there, whatever networks allow."""

import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.db.models import Prefetch, Q, QuerySet

from campaigns.core.database import db_now
from campaigns.domain.plan.addresses import (
    Allowed,
    common_networks,
    host_key,
    is_address,
    parse_address,
    parse_networks,
    place_of,
    proof_path,
    refusals,
    vet,
    written,
)
from campaigns.domain.units import counted
from campaigns.models import Endpoint, HostClaim, HostPermit, Run, Target

_WHAT_TO_DO = "Prove on the page of its target that it is yours, or ask there for an approval."


def current_permits() -> QuerySet[HostPermit]:
    """Proofs that are young enough, and approvals, unless they were withdrawn."""
    young = Q(given_at__gt=db_now(-settings.PROOF_DAYS * 86_400))
    of_age = young | Q(kind=HostPermit.Kind.APPROVAL)
    return HostPermit.objects.filter(of_age, withdrawn_at=None)


def networks_for(project: int, host: str) -> list[str]:
    """Where load of this project may go under this host name: what the settings list, and the
    places of current permits."""
    if not settings.PROOF_DAYS:
        return list(settings.ALLOWED_NETWORKS)
    permits = current_permits().filter(claim__project=project, claim__host=host_key(host))
    places = (place for some in permits.values_list("places", flat=True) for place in some)
    return list(dict.fromkeys([*settings.ALLOWED_NETWORKS, *places]))


def networks_elsewhere(project: int, host: str, allowed: Iterable[str]) -> dict[str, list[str]]:
    """Where redirects may lead under other names than this host, by name, "" for any; {} where no
    proofs matter. A proof is of one name: a server at its address may serve others' names."""
    own = HostPermit.objects.filter(claim__project=project, claim__host=host_key(host))
    of_host = {place for places in own.values_list("places", flat=True) for place in places}
    of_site = (each for each in allowed if each not in of_host)
    anywhere = common_networks(of_site, settings.ALLOWED_NETWORKS)
    elsewhere = {"": anywhere}
    if settings.PROOF_DAYS:
        permits = current_permits().filter(claim__project=project)
        for name, places in permits.values_list("claim__host", "places"):
            elsewhere[name] = [*elsewhere.get(name, anywhere), *places]
    return elsewhere if of_host or len(elsewhere) > 1 else {}


def why_not_permitted(endpoint: Endpoint) -> str:
    """Why no load may go to this endpoint, and what to do, as far as it is known without asking a
    name server; "" where it may."""
    if not settings.PROOF_DAYS:
        return ""
    project, host = endpoint.target.project_id, endpoint.host
    if is_address(endpoint.dialled):
        return _refusal_of(project, host, [place_of(endpoint.dialled, endpoint.port)])
    claim = HostClaim.objects.filter(project=project, host=host_key(host)).first()
    of_port = (
        [each for each in claim.places if Allowed.parse(each).ports[0] == endpoint.port]
        if claim
        else []
    )
    return _refusal_of(project, host, of_port)


def why_not_admitted(run: Run) -> str:
    """Why a queued run may not begin, with the addresses that its host stands for now."""
    if not settings.PROOF_DAYS:
        return ""
    endpoint = run.frozen.endpoint
    # Those that the machine of an injector has are seen as loopback; the injector looks at them.
    addresses = [each for each in run.machines or () if not each.startswith("127.")]
    places = [place_of(address, endpoint.port) for address in addresses]
    return _refusal_of(run.campaign.project_id, endpoint.host, places)


def _refusal_of(project: int, host: str, places: list[str]) -> str:
    if not refusals(places, parse_networks(settings.ALLOWED_NETWORKS)):
        return ""
    if not (why := refusals(places, parse_networks(networks_for(project, host)))):
        return ""
    return f"{_what_is_missing(project, host)} {_WHAT_TO_DO} {why[0]}"


def _what_is_missing(project: int, host: str) -> str:
    """What became of the last proof or approval, in a sentence."""
    of_host = HostPermit.objects.filter(claim__project=project, claim__host=host_key(host))
    last = of_host.order_by("-given_at", "-pk").first()
    if last is None:
        return f"{host} needs proof that it is yours before any load goes there."
    if last.withdrawn_at:
        return f"The {last.kind} for {host} was withdrawn on {last.withdrawn_at:%-d %b %Y}."
    if last.kind == HostPermit.Kind.PROOF and not current_permits().filter(pk=last.pk).exists():
        days = counted(settings.PROOF_DAYS, "days")
        return f"The proof for {host} is older than {days}."
    return f"{host} has addresses or ports that its {last.kind} does not cover."


@dataclass(frozen=True, slots=True)
class HostState:
    """What a target's page says about one of its hosts. `still_refused`: why load may not go to
    some of what the last check saw."""

    host: str
    claim: HostClaim | None
    permits: tuple[HostPermit, ...]
    current: tuple[int, ...]
    is_permitted: bool
    still_refused: tuple[str, ...]
    urls: tuple[str, ...]

    @property
    def word(self) -> str:
        if self.is_permitted:
            kinds = {each.kind for each in self.permits if each.pk in self.current}
            current = "proven" if HostPermit.Kind.PROOF in kinds else "approved"
            return current if kinds else "listed"
        if self.current:
            return "not all of it"
        claim = self.claim
        if claim and claim.approval_asked_at:
            return "waiting for approval"
        return "refused" if claim and claim.refused_at else "needs proof"

    @property
    def proof_ends_at(self) -> datetime | None:
        of_proof = (each for each in self.permits if each.kind == HostPermit.Kind.PROOF)
        since = next((each.given_at for each in of_proof if each.pk in self.current), None)
        return since and since + timedelta(days=settings.PROOF_DAYS)


def hosts_of(target: Target) -> list[HostState]:
    """The target's hosts that need a proof or an approval, or may; [] where only lists count."""
    if not settings.PROOF_DAYS:
        return []
    endpoints = list(target.endpoints.filter(archived_at=None))
    claims_of_hosts = target.project.host_claims.filter(
        host__in={host_key(each.host) for each in endpoints}
    )
    permits = Prefetch("permits", HostPermit.objects.order_by("-pk"))
    claims = {each.host: each for each in claims_of_hosts.prefetch_related(permits)}
    current = set(current_permits().filter(claim__in=claims.values()).values_list("pk", flat=True))
    hosts = dict.fromkeys(host_key(each.host) for each in endpoints if _may_need_proof(each))
    return [_state(host, endpoints, claims.get(host), current) for host in hosts]


def _may_need_proof(endpoint: Endpoint) -> bool:
    """A name may: what it stands for is known once it was looked up."""
    networks = parse_networks(settings.ALLOWED_NETWORKS)
    host = endpoint.dialled
    return not is_address(host) or bool(vet(host, endpoint.port, networks))


def _state(
    host: str, endpoints: list[Endpoint], claim: HostClaim | None, current: set[int]
) -> HostState:
    of_host = [each for each in endpoints if host_key(each.host) == host]
    permits = tuple(claim.permits.all()) if claim else ()
    counting = [each for each in permits if each.pk in current]
    places = [*settings.ALLOWED_NETWORKS, *(place for each in counting for place in each.places)]
    dialled = list(claim.places) if claim else []
    if is_address(host):
        dialled = [place_of(host, each.port) for each in of_host]
    still_refused = tuple(refusals(dialled, parse_networks(places)))
    origins = {each.port: each.frozen() for each in of_host} if claim else {}
    return HostState(
        host=host,
        claim=claim,
        permits=permits,
        current=tuple(each.pk for each in counting),
        is_permitted=bool(dialled) and not still_refused,
        still_refused=still_refused,
        # Where the file is looked for, once for each port.
        urls=tuple(f"{each.over_http()}{proof_path(claim.token)}" for each in origins.values()),
    )


_KEPT_S = 60.0
# What this process has found last for each host and port.
_known: dict[tuple[str, int], Set[str]] = {}


def policy(allowed: list[str], elsewhere: Mapping[str, list[str]] | None = None) -> dict[str, Any]:
    """An order's `policy`: the networks that may be dialled, under other names if they are not the
    same (`elsewhere`), and what in them may not."""
    never = list(_own_services(time.monotonic() // _KEPT_S))
    return {"allow": allowed, "never": never, **({"hosts": dict(elsewhere)} if elsewhere else {})}


@lru_cache(maxsize=1)
def _own_services(_minute: float) -> tuple[str, ...]:
    """PostgreSQL, Redis and what the settings list, as 10.0.0.5:5432; names are looked up again
    each minute. A name that was never known here cannot be dialled from here either."""
    return tuple(sorted({place for host, port in _servers() for place in _places(host, port)}))


def _places(host: str, port: int) -> Set[str]:
    """Those of before while no name server answers: its addresses can be dialled all the same."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return _known.get((host, port), frozenset())
    _known[host, port] = {written(parse_address(str(each[4][0])), port) for each in answers}
    return _known[host, port]


def _servers() -> Iterator[tuple[str, int]]:
    """Sockets in the file system have no port that could be dialled."""
    for url, port in ((settings.DATABASE_URL, 5432), (settings.REDIS_URL, 6379)):
        parts = urlsplit(url)
        host = unquote(parts.hostname or "")
        if host and not host.startswith("/"):
            yield host, parts.port or port
    yield from settings.NEVER
