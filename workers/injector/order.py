"""The order: what the program has to do, parsed from one JSON object; of protocol 2 to measure
several arms side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.addresses import Allowed, host_key, is_address, parse_networks
from campaigns.domain.plan.arrivals import LoadSlice
from campaigns.domain.plan.body import file_bytes, with_bodies
from campaigns.domain.plan.load import MAX_WEIGHT
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import read_tls_options
from campaigns.domain.plan.turns import MOST_ARMS, TurnsOrder, why_not_in_turns
from campaigns.domain.typed_text import JsonReader

PROTOCOL, PROTOCOL_OF_ARMS = 1, 2
_OF_ALL_ARMS = ("run", "policy", "seed", "shard", "bodies")
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class Refusal(Exception):
    """The program refuses to start: `kind` is for programs, the text for people."""

    def __init__(self, kind: str, reason: str):
        self.kind = kind
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Order:
    """`is_probe`: make one attempt of the plan's first step and report it in full; for an exchange,
    send `message` unless it is None.

    `hosts`: where load may go under other names than the endpoint's, "" for any other; empty where
    `allowed` is for all.
    `dead_man_s`: sending stops if the parent is silent for this long; None: never.
    """

    run: str
    plan: Plan
    endpoint: Origin
    mode: ConnectionMode
    shard: LoadSlice
    allowed: tuple[Allowed, ...]
    hosts: Mapping[str, tuple[Allowed, ...]] = field(default_factory=dict)
    never: frozenset[str] = frozenset()
    seed: int = 0
    is_probe: bool = False
    secret: str = field(default="", repr=False)
    dead_man_s: float | None = None
    message: str | None = None

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Raises Refusal("bad_order") with a message that names the field."""
        if not isinstance(data, dict):
            raise Refusal("bad_order", "The order is not a JSON object.")
        if data.get("protocol") != PROTOCOL:
            raise Refusal("bad_order", "This injector only supports protocols 1 and 2.")
        try:
            return cls._read(data)
        except InvalidPlan as error:
            raise Refusal("bad_order", f"The plan cannot be run: {error}") from None
        except KeyError as error:
            raise Refusal("bad_order", f"The order has no {error.args[0]!r}.") from None
        except (TypeError, ValueError, OverflowError, AttributeError) as error:
            raise Refusal("bad_order", f"The order cannot be read: {error}") from None

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Self:
        is_probe = bool(data.get("probe"))
        secrets = data.get("secrets") or {}
        if is_probe:
            what = {"steps": [data["step"]]} if "step" in data else {"exchange": data["exchange"]}
            fields = {
                **what,
                "load": {"model": "sequential", "requests": 1},
                "timeouts": data.get("timeouts") or {},
                "auth": data.get("auth") or {},
                "http_version": data.get("http_version") or "1.1",
                "redirects": data.get("redirects") or "off",
                "session": {"cookies": bool(data.get("cookies"))},
            }
        else:
            fields = data["plan"]
        bodies = data.get("bodies")
        if bodies and isinstance(fields, dict) and isinstance(fields.get("steps"), list):
            # The files that the order has beside it.
            fields = {**fields, "steps": [with_bodies(step, bodies) for step in fields["steps"]]}
        plan = Plan.from_json(fields)
        for blob in (blob for step in plan.steps for blob in step.files):
            file_bytes(blob)
        endpoint = _read_endpoint(data["endpoint"], secrets)
        shard = _read_shard(data.get("shard") or {"index": 0, "count": 1})
        if endpoint.is_websocket != (plan.exchange is not None):
            raise ValueError("an exchange needs ws or wss, and steps need http or https")
        hosts, message = data["policy"].get("hosts") or {}, data.get("message")
        dead_man_s = data.get("dead_man_s")
        if dead_man_s is not None and not float(dead_man_s) > 0:
            raise ValueError(f"dead_man_s must be above 0, not {dead_man_s}")
        if message is not None and not isinstance(message, str):
            raise ValueError("message must be a text or null")
        return cls(
            run=str(data.get("run", "")),
            plan=plan.for_injectors(shard.count),
            endpoint=endpoint,
            mode=ConnectionMode(data.get("connection_mode") or plan.connection_mode),
            shard=shard,
            allowed=parse_networks(data["policy"]["allow"]),
            hosts={host_key(host): parse_networks(allow) for host, allow in hosts.items()},
            never=frozenset(map(str, data["policy"].get("never") or ())),
            seed=int(data.get("seed") or 0),
            is_probe=is_probe,
            secret=str(secrets.get("auth") or ""),
            dead_man_s=None if dead_man_s is None else float(dead_man_s),
            message=message,
        )

    def allowed_under(self, host: str) -> tuple[Allowed, ...]:
        """Where load may go under this host name."""
        if not self.hosts or host_key(host) == host_key(self.endpoint.host):
            return self.allowed
        return self.hosts.get(host_key(host), self.hosts.get("", ()))


def _read_endpoint(data: dict[str, Any], secrets: dict[str, Any]) -> Origin:
    reader = JsonReader(data.get("tls") or {}, "tls")
    tls = read_tls_options(reader)
    if reader.errors:
        raise ValueError("; ".join(f"{name}: {text}" for name, text in reader.errors.items()))
    endpoint = Origin(
        scheme=str(data["scheme"]),
        host=str(data["host"]).strip("[]"),
        port=int(data["port"]),
        verify_tls=bool(data.get("verify_tls", True)),
        tls=tls.resolved(),
        client_key_pem=str(secrets.get("client_key") or ""),
        address=str(data.get("address") or ""),
    )
    if endpoint.scheme not in DEFAULT_PORTS:
        raise ValueError(f"the scheme {endpoint.scheme!r} is none of {', '.join(DEFAULT_PORTS)}")
    if not 1 <= endpoint.port <= 65535:
        raise ValueError(f"the port {endpoint.port} is not between 1 and 65535")
    if not endpoint.host or any(ch <= " " or ch in "/@\\?#%" or ch > "~" for ch in endpoint.host):
        raise ValueError(f"{endpoint.host!r} is not a host name or address")
    if endpoint.address and not is_address(endpoint.address):
        raise ValueError(f"{endpoint.address!r} is not an address")
    return endpoint


def _read_shard(data: dict[str, Any]) -> LoadSlice:
    weights = tuple(int(weight) for weight in data.get("weights") or ())
    shard = LoadSlice(int(data["index"]), int(data["count"]), weights)
    if not 0 <= shard.index < shard.count:
        raise ValueError(f"shard {shard.index} of {shard.count} does not exist")
    if weights and (len(weights) != shard.count or not all(0 < w <= MAX_WEIGHT for w in weights)):
        raise ValueError(
            f"shard.weights must be {shard.count} whole numbers from 1 to {MAX_WEIGHT}, one for "
            "each shard"
        )
    return shard


@dataclass(frozen=True, slots=True)
class ArmsOrder:
    """`arms` are orders as for an arm alone, all with the same load."""

    arms: tuple[Order, ...]
    turns: TurnsOrder
    dead_man_s: float | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Raises Refusal("bad_order")."""
        arms = data.get("arms")
        if not isinstance(arms, list) or not 2 <= len(arms) <= MOST_ARMS:
            raise Refusal("bad_order", f"The order needs from 2 to {MOST_ARMS} 'arms'.")
        if not all(isinstance(arm, dict) for arm in arms):
            raise Refusal("bad_order", "Each arm must be a JSON object.")
        common = {name: data[name] for name in _OF_ALL_ARMS if name in data}
        dead_man = {"dead_man_s": data.get("dead_man_s"), "protocol": PROTOCOL}
        orders = tuple(Order.from_json({**arm, **common, **dead_man}) for arm in arms)
        for number, order in enumerate(orders):
            if reason := why_not_in_turns(order.plan):
                instead = "Measure the arms one after the other instead."
                raise Refusal("bad_order", f"Arm {number}: {reason} {instead}")
        if any(order.plan.load != orders[0].plan.load for order in orders):
            raise Refusal("bad_order", "All arms need the same load to be measured side by side.")
        try:
            turns = TurnsOrder.from_json(data.get("turns") or {}, len(arms))
        except (TypeError, ValueError, AttributeError) as error:
            raise Refusal("bad_order", f"The order cannot be read: {error}") from None
        return cls(orders, turns, orders[0].dead_man_s)
