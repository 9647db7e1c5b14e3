"""For 0016: the figures of a run from the stored total of its newest summary."""

from typing import Any

from campaigns.migrations.frozen.payloads import middle_us, read_payload

_PERCENTILES = {"p50_us": 50_000, "p95_us": 95_000, "p99_us": 99_000}
_WHOLE = 100_000
_ENOUGH = 5 * _WHOLE  # a percentile needs five requests beyond it


def run_figures(total: dict[str, Any]) -> dict[str, float | None]:
    """The columns n, errors, mean_us, p50_us, p95_us and p99_us."""
    counters = total["counters"]
    n = counters.get("ok", 0)
    response = total["timings"].get("response") or {"n": 0}
    known = {name: q for name, q in _PERCENTILES.items() if n * (_WHOLE - q) >= _ENOUGH}
    return {
        "n": n,
        "errors": counters.get("failed", 0) + counters.get("dropped", 0),
        "mean_us": response["sum_us"] / response["n"] if response["n"] else None,
        **dict.fromkeys(_PERCENTILES),
        **(_percentiles(response, known) if response["n"] else {}),
    }


def _percentiles(response: dict[str, Any], known: dict[str, int]) -> dict[str, float]:
    """Nearest rank; never outside what was measured."""
    n, lowest, highest = response["n"], response["min_us"], response["max_us"]
    filled = read_payload(response["histogram"])
    found = {}
    for name, q in known.items():
        rank = max(1, -(-q * n // _WHOLE))
        value = highest if rank == n else _value_at(filled, rank)
        found[name] = float(min(max(value, lowest), highest))
    return found


def _value_at(filled: list[tuple[int, int]], rank: int) -> float:
    n_so_far = 0
    for bucket, count in filled:
        n_so_far += count
        if n_so_far >= rank:
            return middle_us(bucket)
    return middle_us(filled[-1][0])
