"""How many bytes a stored second takes, with its index and TOAST: one that is made up, and those of
our injector. The database is the one that the environment names; its other seconds are deleted.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np

from benchmarks.figures import GoalRow
from benchmarks.injected_run import told
from benchmarks.servers import serving

ROWS, PER_S = 3600, 1000
REAL_S = 12
_GET = {"label": "get", "method": "GET", "path": "/", "headers": [], "body": ""}
# Of one injector with one step on kept connections.
_LOADS = {
    "10 connections, closed": {"model": "closed", "connections": 10, "duration_s": REAL_S},
    f"open, {PER_S:,}/s": {"model": "open", "rate_per_s": PER_S, "duration_s": REAL_S},
}


def stored_lines() -> Iterator[GoalRow]:
    made_up = _bytes_each([_made_up(number) for number in range(ROWS)])
    name = f"a run-second of {PER_S:,} requests, stored"
    yield GoalRow(name, f"{made_up:,.0f} B", "≤ 1,000 B", made_up <= 1000)
    with serving(core=1) as server:
        for name, load in _LOADS.items():
            plan = {"steps": [_GET], "load": load, "connection_mode": "keep-alive"}
            lines = [each for each in told(plan, server.http_port) if each["type"] == "second"]
            whole = lines[1:-1]  # the first has connections to open, the last only stragglers
            n = round(np.mean([each["counters"]["ok"] for each in whole]))
            said = f"{_bytes_each(list(islice(cycle(whole), ROWS))):,.0f} B, {n:,} requests in each"
            yield GoalRow(f"  our injector's: {name}", said)


def _bytes_each(seconds: Sequence[dict[str, Any]]) -> float:
    from django.db import connection

    from campaigns.models import ShardSecond
    from tests.factories import make_campaign, make_project, make_run, make_test

    run = make_run(make_test(make_campaign(make_project())))
    ShardSecond.objects.all().delete()
    rows = [
        ShardSecond.of(each | {"second": number}, run_id=run.pk, shard=0, epoch=1)
        for number, each in enumerate(seconds)
    ]
    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL campaigns_shardsecond")
        ShardSecond.objects.bulk_create(rows)
        cursor.execute("SELECT pg_total_relation_size('campaigns_shardsecond')")
        (size,) = cursor.fetchone()
    return size / len(rows)


def _made_up(number: int) -> dict[str, Any]:
    """Whose response, service and wait are equal."""
    from campaigns.domain.measured.snapshot import Second, Timing

    rng = np.random.default_rng(number)
    values = (10_000 * rng.lognormal(0, 0.4, PER_S)).astype(int)
    timings = {name: Timing.of(values) for name in ("response", "service", "wait")}
    timings |= {
        name: Timing.of(rng.integers(20, 90, PER_S))
        for name in ("lateness", "own_delay", "send", "receive")
    }
    counters = {"started": PER_S, "ok": PER_S, "bytes_received": 4000 * PER_S}
    vitals = {"cpu_share": 0.2, "hub_lag_max_us": 900, "own_delay_p99_us": 90, "rss_bytes": 4e7}
    return Second(number, 0, counters, {}, {"200": PER_S}, 4, timings, vitals).to_json()
