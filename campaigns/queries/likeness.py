"""Are two arms like for like? What must be the same, what must be equal, and what differs."""

from collections.abc import Sequence

from campaigns.domain.measured.injector_end import peers_of
from campaigns.domain.measured.snapshot import Total, total_of
from campaigns.domain.units import count, percent
from campaigns.queries.measured import MeasuredRun

_EQUAL_WITHIN = 0.01


def like_for_like(
    http: Sequence[MeasuredRun], https: Sequence[MeasuredRun]
) -> dict[str, list[list[str]]]:
    """{"same": [[k, v]], "equal": [[k, v]], "different": [[k, http, https]]} of two arms' runs.

    Same is what was chosen (target, host, plan, injectors), equal what was measured to agree.
    """
    found: dict[str, list[list[str]]] = {"same": [], "equal": [], "different": []}
    if not http or not https:
        return found
    for name, values in _chosen(http, https):
        _sort_in(found, "same", name, values, values[0] == values[1])
    totals = [total_of(each.total for each in arm) for arm in (http, https)]
    sizes = [_bytes_per_reply(total) for total in totals]
    _sort_in(found, "equal", "reply", [f"{size:,.0f} B" for size in sizes], _close(*sizes))
    statuses = [_status_shares(total) for total in totals]
    _sort_in(found, "equal", "status", [_words(each) for each in statuses], _same_mix(*statuses))
    per_run = [max(each.figures.attempts for each in arm) for arm in (http, https)]
    similar = max(per_run) <= 2 * min(per_run)
    _sort_in(found, "equal", "requests a run", [count(each) for each in per_run], similar)
    return found


def _sort_in(found: dict, kind: str, name: str, values: Sequence[str], agree: bool) -> None:
    if agree:
        shown = values[0] if values[0] == values[1] else f"{values[0]} and {values[1]}"
        found[kind].append([name, shown])
    else:
        found["different"].append([name, *values])


def _chosen(http: Sequence[MeasuredRun], https: Sequence[MeasuredRun]):
    arms = (http, https)
    for name, of_run in (("target", _target), ("host", _host), ("plan", _plan)):
        yield name, [_joined(of_run(each) for each in arm) for arm in arms]
    yield "injectors", [_joined(host for each in arm for host in _injectors(each)) for arm in arms]


def _joined(values) -> str:
    return ", ".join(sorted(set(filter(None, values))))


def _target(each: MeasuredRun) -> str:
    return each.run.frozen.target


def _host(each: MeasuredRun) -> str:
    """The addresses that were really connected to, or the endpoint's host where none is known."""
    hosts = _joined(peer.rpartition(":")[0] for peer in peers_of(each.run.ends))
    return hosts or each.run.frozen.endpoint.host


def _plan(each: MeasuredRun) -> str:
    return each.run.frozen.plan_label


def _injectors(each: MeasuredRun) -> list[str]:
    return [shard.host for shard in each.run.shards.all()]


def _bytes_per_reply(total: Total) -> float:
    replies = total.count("ok") + total.count("failed")
    return total.count("bytes_received") / replies if replies else 0.0


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= _EQUAL_WITHIN * max(first, second)


def _status_shares(total: Total) -> dict[str, float]:
    whole = sum(total.statuses.values())
    return {status: number / whole for status, number in sorted(total.statuses.items())}


def _same_mix(first: dict[str, float], second: dict[str, float]) -> bool:
    return all(
        abs(first.get(status, 0.0) - second.get(status, 0.0)) <= _EQUAL_WITHIN
        for status in {*first, *second}
    )


def _words(shares: dict[str, float]) -> str:
    if len(shares) == 1:
        return f"{next(iter(shares))} only"
    return ", ".join(f"{status} {percent(share)}" for status, share in shares.items()) or "none"
