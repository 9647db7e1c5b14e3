"""What became of a round's runs, from three sources that do not know of each other: the target's
log of arrivals, the spools as they were written, and the database.
"""

import html
import json
import threading
from collections import defaultdict
from pathlib import Path

from django.test import Client
from django.urls import reverse

from benchmarks.faults.network import HOSTS
from benchmarks.faults.runs import owner
from benchmarks.faults.verdicts import Arrival, SecondKey, Seen
from benchmarks.faults.world import World
from campaigns.models import Run
from workers.spool import Spool

LOOK_EVERY_S = 0.05


class SpoolKeeper:
    """Opens every spool as soon as it is made, and can still read it when it was deleted."""

    def __init__(self, world: World):
        self._folders = [world.spool(host) for host in HOSTS]
        self._open: dict[str, Spool] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="spools", daemon=True)
        self._thread.start()

    def is_delivered(self) -> bool:
        """Whether no host has a spool that is still to be stored."""
        return not any(path for folder in self._folders for path in folder.glob("*.spool"))

    def seconds_of(self, run_id: int) -> dict[tuple[int, int], list[dict]]:
        """By shard and epoch: the seconds on disk."""
        found = {}
        for name, spool in list(self._open.items()):
            run, shard, epoch = map(int, name.split("-"))
            if run == run_id:
                lines = [each for each in spool.records() if each["type"] == "second"]
                found[shard, epoch] = lines
        return found

    def forget(self) -> None:
        for name in list(self._open):
            self._open.pop(name).close(is_stored=False)

    def _work(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            for path in (path for folder in self._folders for path in folder.glob("*.spool")):
                self._keep(path)

    def _keep(self, path: Path) -> None:
        if path.stem in self._open:
            return
        try:
            self._open[path.stem] = Spool(path, path.open("rb", buffering=0))
        except FileNotFoundError:
            return


class Arrivals:
    """The target's log, read as it grows."""

    def __init__(self, path: Path):
        self._path = path
        self._offset = 0
        self._by_path: dict[str, list[Arrival]] = defaultdict(list)

    def of(self, path: str) -> list[Arrival]:
        """The requests to this path, as they reached the target."""
        self._read()
        return sorted(self._by_path[path])

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            lines = file.read()
        whole, _, _ = lines.rpartition(b"\n")
        self._offset += len(whole) + bool(whole)
        for line in whole.splitlines():
            request = json.loads(line)
            arrival = (request["monotonic_ns"], request["connection"])
            self._by_path[request["path"]].append(arrival)


def look(run_id: int, path: str, arrivals: Arrivals, spools: SpoolKeeper) -> Seen:
    """All that is known of an ended run."""
    run = Run.objects.get(pk=run_id)
    stored: dict[SecondKey, int] = {
        (row.shard, row.second, row.step): row.value().counters.get("started", 0)
        for row in run.seconds.all()
    }
    spooled = spools.seconds_of(run_id)
    return Seen(
        outcome=run.outcome or "",
        reason=run.reason,
        page=_page_of(run) if run.reason else "",
        hosts=frozenset(run.shards.exclude(host="").values_list("host", flat=True)),
        arrivals=tuple(arrivals.of(path)),
        stored=stored,
        spooled={
            (shard, line["second"], line["step"]): line["counters"].get("started", 0)
            for (shard, _), lines in spooled.items()
            for line in lines
        },
        epochs=tuple(key for key, lines in spooled.items() if lines),
        n_shards=run.shards.count(),
    )


def _page_of(run: Run) -> str:
    client = Client()
    client.force_login(owner().user)
    page = client.get(reverse("run-detail", args=[run.pk]), headers={"Host": "localhost"})
    return html.unescape(page.content.decode())
