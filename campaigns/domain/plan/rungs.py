"""The rungs of the protocol ladder: what an arm speaks, and the rungs that a new ladder offers."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.estimates import Estimate, estimate_campaign, estimate_side_by_side
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import (
    STANDARD,
    USUAL_GROUPS,
    TlsProfile,
    is_post_quantum,
    profile_named,
)
from campaigns.domain.plan.turns import USUAL_BLOCKS, ArmsOfPlan, why_not_side_by_side

# Profiles that are rungs; each other one has a name.
_RUNGS_OF_TLS = frozenset({STANDARD, "tls12", "classical"})
AT_ONCE = 32
_OF_PROFILE = "profile:"


class Section(StrEnum):
    """The ladder's parts; within one, each rung is compared with the one before it."""

    NEW = "new"
    KEPT = "kept"
    PROFILES = "profiles"
    MANY = "many"


@dataclass(frozen=True, slots=True, order=True)
class Spoken:
    """What tells the rungs of a ladder apart, in the order of the ladder. `tls`: the newest version
    that is offered, "" without TLS; `profile`: the name of one that is no rung by itself."""

    tls: str
    is_hybrid: bool
    profile: str
    is_resumed: bool
    http: HttpVersion
    streams: int
    connections: int


def spoken_by(origin: Origin, mode: str, plan: Plan) -> Spoken:
    """What an arm speaks: `origin` with its options resolved, as it is frozen."""
    tls = origin.tls if origin.is_tls else None
    is_closed = plan.load.model == Model.CLOSED
    first = ((tls and tls.groups) or USUAL_GROUPS).split(":")[0]
    is_hybrid = bool(tls) and tls.max_version != "1.2" and is_post_quantum(first)
    return Spoken(
        tls=(tls.max_version or "1.3") if tls else "",
        is_hybrid=is_hybrid,
        profile=("" if tls.profile in _RUNGS_OF_TLS else profile_named(tls.profile).name)
        if tls
        else "",
        is_resumed=mode == ConnectionMode.RESUMED,
        http=plan.http_version,
        streams=plan.streams,
        connections=(plan.load.connections or 1) if is_closed else 1,
    )


@dataclass(frozen=True, slots=True)
class Rung:
    """A rung that a new ladder can have. `streams` and `connections`: of a load of its own that has
    32 requests at a time; None for the plan's load."""

    key: str
    section: Section
    title: str
    words: str
    scheme: str
    profile: str
    mode: ConnectionMode
    http: HttpVersion = HttpVersion.HTTP_1_1
    connections: int | None = None
    streams: int = 1
    is_usual: bool = True


_NEW, _RESUMED, _KEPT = ConnectionMode.NEW, ConnectionMode.RESUMED, ConnectionMode.KEEP_ALIVE
_H2 = HttpVersion.HTTP_2


def _rungs(section: Section, mode: ConnectionMode) -> list[Rung]:
    """From plain HTTP to a hybrid key exchange."""
    rungs = (
        ("http", "HTTP/1.1", "no TLS", "http", STANDARD),
        ("tls12", "HTTPS/1.1, TLS 1.2", "X25519", "https", "tls12"),
        ("tls13", "TLS 1.3", "X25519", "https", "classical"),
        ("hybrid", "Hybrid key exchange", "X25519MLKEM768", "https", STANDARD),
    )
    return [
        Rung(f"{section}-{key}", section, title, words, scheme, profile, mode)
        for key, title, words, scheme, profile in rungs
    ]


def _many(key: str, words: str, http: HttpVersion, connections: int, streams: int) -> Rung:
    title = "HTTP/2" if http == _H2 else "HTTPS/1.1"
    return Rung(
        f"many-{key}", Section.MANY, title, words, "https", STANDARD, _KEPT, http, connections,
        streams, is_usual=False,
    )  # fmt: skip


RUNGS: Mapping[str, Rung] = {
    rung.key: rung
    for rung in (
        *_rungs(Section.NEW, _NEW),
        Rung("new-resumed", Section.NEW, "Resumed session", "a ticket instead of a certificate",
             "https", STANDARD, _RESUMED),
        Rung("new-http2", Section.NEW, "HTTP/2", "one stream a connection, session resumed",
             "https", STANDARD, _RESUMED, _H2),
        *_rungs(Section.KEPT, _KEPT),
        Rung("kept-http2", Section.KEPT, "HTTP/2", "one stream a connection",
             "https", STANDARD, _KEPT, _H2),
        Rung("new-rsa", Section.PROFILES, "RSA", "a server with both certificates shows this one",
             "https", "rsa", _NEW, is_usual=False),
        Rung("new-ecdsa", Section.PROFILES, "ECDSA", "the same server's other certificate",
             "https", "ecdsa", _NEW, is_usual=False),
        _many("http1", f"{AT_ONCE} connections", HttpVersion.HTTP_1_1, AT_ONCE, 1),
        _many("http2", f"{AT_ONCE} connections with one stream", _H2, AT_ONCE, 1),
        _many("streams", f"1 connection with {AT_ONCE} streams", _H2, 1, AT_ONCE),
    )
}  # fmt: skip
USUAL_RUNGS = tuple(key for key, rung in RUNGS.items() if rung.is_usual)


def rung_of_profile(own: TlsProfile) -> Rung:
    """A rung of a profile that the project named, beside RSA and ECDSA."""
    return Rung(
        f"{_OF_PROFILE}{own.name}", Section.PROFILES, own.title, own.summary, "https", own.key,
        _NEW, is_usual=False,
    )  # fmt: skip


def profile_of_rung(key: str) -> str:
    """The name of the project's own profile that a rung's key stands for, else ""."""
    return key.removeprefix(_OF_PROFILE) if key.startswith(_OF_PROFILE) else ""


def section_of(spoken: Spoken, mode: str, *, has_many: bool) -> Section:
    """`has_many`: the campaign has an arm with several streams on a connection, beside which others
    with as many requests at a time stand."""
    if has_many and spoken.connections * spoken.streams > 1:
        return Section.MANY
    if spoken.profile:
        return Section.PROFILES
    return Section.KEPT if mode == ConnectionMode.KEEP_ALIVE else Section.NEW


def is_ladder(rungs: Sequence[tuple[Section, Spoken]]) -> bool:
    """Whether arms of one target are told apart by what they speak, by more than HTTP, HTTPS and
    the connection, and none twice."""
    if len(set(rungs)) < len(rungs):
        return False
    over_tls = {
        (each.tls, each.is_hybrid, each.profile, each.http, each.streams)
        for _, each in rungs
        if each.tls
    }
    return len(over_tls) > 1


AT_ONCE_S = 10  # what a load of 32 requests at a time measures


def spec_of_rung(plan: Plan, rung: Rung) -> tuple[dict[str, Any], str]:
    """(the plan's JSON on this rung, what its name adds). One that no plan may have is as it was
    asked for, and refused where it is read."""
    spec = replace(plan, http_version=rung.http, streams=rung.streams).to_json()
    name = "HTTP/2" if rung.http == HttpVersion.HTTP_2 else "HTTP/1.1"
    if rung.connections is None:
        return spec, name
    spec["load"] = {"model": "closed", "connections": rung.connections, "duration_s": AT_ONCE_S}
    name += f", {rung.connections} × {rung.streams} at once"
    try:
        return Plan.from_json(spec).to_json(), name
    except InvalidPlan:
        return spec, name


def estimate_ladder(
    plan: Plan, rungs: Iterable[Rung], *, repeats: int | None, pause_s: float
) -> Estimate:
    """What these rungs take, without those that cannot send the plan."""
    by_load: dict[Load, list[tuple[Plan, ConnectionMode, int]]] = {}
    for rung in rungs:
        with suppress(InvalidPlan):
            own_plan = Plan.from_json(spec_of_rung(plan, rung)[0])
            by_load.setdefault(own_plan.load, []).append((own_plan, rung.mode, 1))
    groups = list(by_load.values())
    arms = [ArmsOfPlan("", own_plan, len(each)) for each in groups for own_plan, *_ in each]
    if not arms or why_not_side_by_side(arms):
        tests = [test for group in groups for test in group]
        return estimate_campaign(tests, repeats=repeats or USUAL_BLOCKS, pause_s=pause_s)
    values = {"limit_s": None, "until_settled": True, "pause_s": pause_s}
    return estimate_side_by_side(groups, repeats=repeats or 1, **values)
