"""For 0022: what histories keep of a test, from its runs, and the facts of its setting."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models.fields.json import KeyTransform

_METRICS = ("mean_us", "p50_us", "p95_us", "p99_us")
_OF_RUN = ("test_id", "outcome", "trust", "target_state", "n", "errors", *_METRICS)
_OF_TEST = {
    "pk": "test_id",
    "campaign_id": "campaign_id",
    "campaign__project_id": "project_id",
    "campaign__started_at": "started_at",
    "plan_version__plan_id": "plan_id",
    "plan_version__number": "plan_number",
    "endpoint_id": "endpoint_id",
    "connection_mode": "connection_mode",
    "injectors": "injectors",
}
_WORST_LAST = ("healthy", "changing", "overloaded", "failing")


def kept_figures(tests, runs, shards) -> list[dict[str, Any]]:
    """The columns of `TestFigures` of each of the tests that has a summarised run. `runs` and
    `shards` are all there are; all three are querysets of the migration's own models."""
    runs = runs.filter(test__in=tests)
    facts = _facts(runs, shards)
    rows: dict[int, list[dict[str, Any]]] = {}
    for row in runs.filter(n__isnull=False).order_by("test_id", "repeat").values(*_OF_RUN):
        rows.setdefault(row["test_id"], []).append(row)
    measured = tests.filter(pk__in=rows, campaign__started_at__isnull=False).order_by("pk")
    return [
        {column: test[path] for path, column in _OF_TEST.items()}
        | _kept(rows[test["pk"]])
        | {"facts": facts.get(test["pk"], {})}
        for test in measured.values(*_OF_TEST)
    ]


def _kept(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counted = [row for row in rows if _is_counted(row)]
    trusts = {row["trust"] for row in rows if row["trust"]}
    states = [row["target_state"] for row in rows if row["target_state"]]
    return {
        "n": sum(row["n"] for row in rows),
        "errors": sum(row["errors"] for row in rows),
        "trust": "doubtful" if len(trusts) > 1 else next(iter(trusts), ""),
        "target_state": max(states, key=_WORST_LAST.index, default=""),
        **{name: [row[name] for row in counted if row[name] is not None] for name in _METRICS},
    }


def _is_counted(row: Mapping[str, Any]) -> bool:
    is_usable = row["outcome"] == "complete" and row["trust"] != "not_usable"
    return row["n"] > 0 and is_usable and row["target_state"] in {None, "healthy", "changing"}


def _facts(runs, shards) -> dict[int, dict[str, str]]:
    """By test: as of its first complete run."""
    firsts = (
        runs.filter(outcome="complete")
        .order_by("test_id", "position")
        .distinct("test_id")
        .values_list("pk", "test_id", *_keys("snapshot", "environment", "endpoint"))
    )
    rows = {pk: rest for pk, *rest in firsts}
    ends = shards.filter(run__in=rows).order_by("run_id", "number")
    seen: dict[int, list] = {}
    for run, *rest in ends.values_list("run_id", "host", *_keys("end", "servers", "tls")):
        seen.setdefault(run, []).append(rest)
    return {
        test: facts_of(environment, endpoint, seen.get(pk, []))
        for pk, (test, environment, endpoint) in rows.items()
    }


def _keys(column: str, *names: str) -> list[KeyTransform]:
    """Only these keys of a JSON column: the whole of it is a plan or an end line."""
    return [KeyTransform(name, column) for name in names]


def facts_of(
    environment: Iterable[Sequence[str]], endpoint: Mapping[str, Any], shards: Iterable[Any]
) -> dict[str, str]:
    """`shards`: of each the host, the server's names, and what its handshakes agreed on."""
    hosts, servers, agreed = set(), set(), set()
    for host, said, handshakes in shards:
        hosts.add(host)
        servers.add(", ".join(said or ()))
        agreed |= {f"{each['version']}, {each['cipher']}" for each in handshakes or ()}
    found = {
        "Endpoint": _origin(endpoint),
        "TLS options": ", ".join(_tls_words(endpoint.get("tls", {}))),
        "Injector hosts": ", ".join(sorted(filter(None, hosts))),
        "Server": ", ".join(sorted(filter(None, servers))),
        "TLS": "; ".join(sorted(agreed)),
    }
    return {**dict(environment), **{name: words for name, words in found.items() if words}}


def _origin(endpoint: Mapping[str, Any]) -> str:
    host = f"[{endpoint['host']}]" if ":" in endpoint["host"] else endpoint["host"]
    return f"{endpoint['scheme']}://{host}:{endpoint['port']}"


def _tls_words(chosen: Mapping[str, Any]) -> list[str]:
    """Of the options that are not at their default; those of later releases are not known here."""
    said = {
        "min_version": "TLS {} or newer",
        "max_version": "TLS {} or older",
        "ciphers": "ciphers {}",
        "ca_pem": "authorities of its own",
        "sni": "announces {}",
        "client_certificate_pem": "shows a client certificate",
        "alpn": "offers no ALPN",
        "fingerprint": "only the certificate {:.16}… is accepted",
    }
    return [words.format(chosen[name]) for name, words in said.items() if name in chosen]
