"""One process that watches a live run, as a web process does: `python -m benchmarks.live_page 4 10`
prints what it cost as JSON. The database is the one that the environment names, and is empty.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from statistics import median
from typing import Any

import django
import numpy as np

REFRESHES, EVERY_S = 20, 5
MINUTES = (1, 10, 30, 60)
HOUR_S = 3600
KEPT_BEFORE_S = 30  # at most, by the worker's schedule
REQUESTS = 50
_COLUMNS = ("run_id", "shard", "second", "step", "epoch", "packed")


def main(injectors: int, steps: int) -> list[dict[str, float]]:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    run = run_under_way(injectors, steps)
    watching = Watching(run, injectors, steps)
    return [watching.measure(minute) for minute in MINUTES]


class Watching:
    """A run whose seconds arrive when they are asked for, and its one viewer."""

    def __init__(self, run, injectors: int, steps: int, requests: int = REQUESTS):
        from django.test import Client
        from django.urls import reverse

        self.run, self._next = run, 0
        parts = product(range(injectors), range(steps))
        self._rows = [(shard, step, _second(shard, step, requests)) for shard, step in parts]
        self._client, self._address = Client(), reverse("run-detail", args=[run.pk])
        self._client.force_login(run.campaign.project.memberships.get().user)

    def measure(self, minute: int) -> dict[str, float]:
        """Of some refreshes from then on, each the first one of its seconds; `kept_s`: what a
        worker has added up before; `first_s`: the first view in a process that has just started,
        half a minute later."""
        second = 60 * minute
        self.arrive(second - KEPT_BEFORE_S)
        kept_s, _ = self._cost(_keep)
        self.arrive(second)
        first_s, _ = self._cost(self._view)
        told, pages, page = [], [], b""
        for _ in range(REFRESHES):
            told.append(sum(self._tell_next() for _ in range(EVERY_S)))
            page_s, page = self._cost(self._view)
            pages.append(page_s)
        return {
            "minute": minute,
            "kept_s": kept_s,
            "first_s": first_s,
            "told_ms": 1e3 * median(told),
            "page_ms": 1e3 * median(pages),
            "page_p95_ms": 1e3 * sorted(pages)[REFRESHES * 95 // 100 - 1],
            "page_kb": len(page) / 1e3,
        }

    def _tell_next(self) -> float:
        from campaigns.live.events import Message
        from campaigns.live.feed import FEED

        last = self._next - 1
        self.arrive(self._next + 1)
        return self._cost(lambda: Message("second", FEED.news(self.run.pk, last)).encode())[0]

    def _view(self) -> bytes:
        answer = self._client.get(self._address, headers={"Host": "localhost"})
        assert answer.status_code == 200, answer
        return answer.content

    @staticmethod
    def _cost(act) -> tuple[float, Any]:
        began = time.process_time()
        made = act()
        return time.process_time() - began, made

    def arrive(self, until: int) -> None:
        """All seconds before `until` are stored, and the process hears of it."""
        from django.db import connection

        from campaigns.live.feed import FEED

        statement = f"COPY campaigns_shardsecond ({', '.join(_COLUMNS)}) FROM STDIN"
        while self._next < until:  # in portions: a statement has its time
            end = min(self._next + 200, until)
            with connection.cursor() as cursor, cursor.copy(statement) as copy:
                for row in self._rows_until(end):
                    copy.write_row(row)
            self._next = end
        self.run.shards.update(last_second=until - 1)
        FEED.bell.ring()

    def _rows_until(self, until: int) -> Iterator[tuple]:
        for second in range(self._next, until):
            for shard, step, made in self._rows:
                yield self.run.pk, shard, second, step, 1, made


def _keep() -> None:
    """As the general worker does it; then this process knows nothing of the run."""
    from campaigns.live.feed import FEED
    from campaigns.services.so_far import keep_so_far

    assert keep_so_far(is_over=lambda: False) == 1
    FEED._followed.clear()


def _second(shard: int, step: int, requests: int) -> bytes:
    """A second as it is stored: response times about 10 ms, and its parts."""
    from campaigns.domain.measured.packed_second import pack
    from campaigns.domain.measured.snapshot import Second, Timing

    values = np.random.default_rng(100 * shard + step).lognormal(9.2, 0.4, requests).astype(int)
    small = Timing.of(values // 50)
    timings = {name: Timing.of(values) for name in ("response", "service", "wait")}
    timings |= dict.fromkeys(("lateness", "own_delay", "send", "receive", "hub_lag"), small)
    vitals = {"cpu_share": 0.2, "hub_lag_max_us": 900, "own_delay_p99_us": 90, "rss_bytes": 4e7}
    counters = {"started": requests, "ok": requests, "bytes_received": 4000 * requests}
    told = vitals if step == 0 else None
    return pack(Second(0, step, counters, {}, {"200": requests}, 4, timings, told).to_json())


def run_under_way(injectors: int, steps: int, duration_s: int = 2 * HOUR_S):
    from django.utils import timezone

    from campaigns.models import Run
    from tests.factories import (
        make_campaign,
        make_plan,
        make_project,
        make_run,
        make_test,
        make_user,
    )
    from tests.values import plan_spec

    project = make_project(owner=make_user(f"viewer of {injectors} × {steps}"))
    load = {"model": "closed", "connections": 10, "duration_s": duration_s}
    names = [{"label": f"step {n}", "method": "GET", "path": "/"} for n in range(steps)]
    version = make_plan(project, spec=plan_spec(**load) | {"steps": names})
    run = make_run(make_test(make_campaign(project), version), n_shards=injectors)
    for state in ("preparing", "armed", "running"):
        began = timezone.now() - timedelta(seconds=2 * HOUR_S)
        Run.objects.filter(pk=run.pk).update(state=state, t0=began)
    for state in ("claimed", "ready", "running"):
        run.shards.update(state=state, worker="w", host="host", lease_until=timezone.now())
    return run


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    print(json.dumps(main(*map(int, sys.argv[1:]))))
