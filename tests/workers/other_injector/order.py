"""What this injector can do of an order, and which addresses it may dial."""

import ipaddress
import socket


class Cannot(Exception):
    """(kind, sentence): what is refused."""


USUAL = {
    "http_version": "1.1",
    "resolve": "once",
    "exchange": None,
    "auth": {"kind": "none", "user": ""},
    "order": {"kind": "round_robin", "block_repeat": 1, "weights": []},
    "variables": {"csv": "", "order": "sequential"},
}

KNOWN = {
    "steps", "load", "connection_mode", "timeouts", "expected_status", "warm_up_s", "session",
    "thresholds", *USUAL,
}  # fmt: skip


def check(order):
    """The addresses to dial. Raises Cannot."""
    if order.get("protocol") != 1:
        raise Cannot("bad_order", "This injector speaks protocol 1 only.")
    if order.get("probe"):
        raise Cannot("bad_order", "probe: this injector does no single requests.")
    plan, endpoint = order["plan"], order["endpoint"]
    if unknown := sorted(set(plan) - KNOWN):
        raise Cannot("bad_order", f"plan.{unknown[0]}: this injector knows no such field.")
    if plan["http_version"] != USUAL["http_version"]:
        raise Cannot("bad_order", "plan.http_version: this injector speaks HTTP/1.1 only.")
    if plan["load"]["requests"] is not None and plan["load"]["duration_s"] is not None:
        raise Cannot("bad_order", "plan.load.duration_s: requests say already when it ends.")
    if plan["load"]["model"] not in {"closed", "sequential"}:
        raise Cannot("bad_order", "plan.load.model: this injector knows closed and sequential.")
    if order["connection_mode"] == "resumed" or endpoint["scheme"] != "http" or endpoint.get("tls"):
        raise Cannot("bad_order", "endpoint.scheme: this injector speaks plain HTTP only.")
    if order["shard"].get("weights"):
        raise Cannot("bad_order", "shard.weights: this injector has equal shares only.")
    session = {k: v for k, v in plan["session"].items() if k not in {"think_time"}}
    if (
        any(plan[name] != usual for name, usual in USUAL.items())
        or plan["session"]["think_time"]["kind"] != "none"
        or [session["calls_per_connection"], session["burst_length"]] != [0, 1]
        or session["pipeline_depth"] != 1
        or session["cookies"]
        or session["calls_per_session"]
        or any(step["extract"] for step in plan["steps"])
        or plan["load"]["per_injector"]
        or plan["load"]["ramp_up_s"]
        or plan["load"]["start_offset_s"]
    ):
        raise Cannot("bad_order", "plan: only plain requests in turns, all connections at once.")
    never = order["policy"].get("never", [])
    found = [addr for addr in resolved(endpoint) if admit(addr, order["policy"]["allow"])]
    if any(f"{addr}:{endpoint['port']}" in never for addr in found):
        raise Cannot("address_refused", "A server of the installation.")
    return found


def resolved(endpoint):
    try:
        found = socket.getaddrinfo(endpoint["host"], endpoint["port"], type=socket.SOCK_STREAM)
    except OSError as error:
        raise Cannot("dns_failed", f"{endpoint['host']} could not be resolved: {error}") from None
    return list(dict.fromkeys(each[4][0] for each in found))


def admit(address, allowed):
    ip = ipaddress.ip_address(address)
    bad = ip.is_link_local or ip.is_multicast or ip.is_reserved or ip.is_unspecified
    if bad or not any(ip in ipaddress.ip_network(net) for net in allowed):
        raise Cannot("address_refused", f"{address} is in none of the networks that are allowed.")
    return True


def share(total, index, count):
    """Largest remainder: 1000 over 3 are 334, 333, 333."""
    return total // count + (index < total % count)


def requests_of(load, index, count):
    """Shared by the shards that have a connection, which are the first ones."""
    if load["requests"] is None:
        return None
    n_at_work = min(count, load["connections"] or 1)
    return share(load["requests"], index, n_at_work) if index < n_at_work else 0
