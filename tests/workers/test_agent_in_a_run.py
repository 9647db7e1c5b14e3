"""A real agent, scraped by the host of a run: its processes, what perf counts, and its profile."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from campaigns.models import Campaign, Exporter, Run, RunProfile
from campaigns.projects.services import encrypt
from tests.injector.authority import issue
from tests.waiting import eventually
from tests.workers.test_scraping import problems, to_the_end

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("spool_folder")]
TOKEN = "a-token-of-some-length"
# What Linux and perf tell of this machine may be that nobody may count here: said, not failed.
PERF = """#!/bin/sh
if [ $1 = report ]; then printf ' 9 \\tnginx\\tnginx\\t[.] serve\\n'; exit 0; fi
if [ $1 = record ]; then trap 'exit 0' INT; while :; do sleep 0.05; done; fi
n=0
while :; do
    n=$((n + 1))
    for event in task-clock context-switches cpu-migrations page-faults cycles instructions \
        branches branch-misses; do echo "     $n.0;7;;$event;1000;100.00;;"; done
    sleep 1
done
"""


@contextmanager
def running(*words: str, path: str = "") -> Iterator[int]:
    """The port of an agent that has a token."""
    command = [sys.executable, "-I", "workers/agent.py", "--listen", "127.0.0.1:0", *words]
    env = {"BENCHSITE_AGENT_TOKEN": TOKEN, "PATH": f"{path}:{os.environ['PATH']}"}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield int(re.search(r":(\d+)/metrics", process.stderr.readline())[1])
        finally:
            process.terminate()


def watched_by(run: Run, url: str, **fields) -> Exporter:
    return Exporter.objects.create(
        target=run.target, name="shop-1", url=url, token=encrypt(TOKEN), **fields
    )


def test_a_run_has_what_its_agent_tells_counts_and_records(run, dispatcher, tmp_path):
    (tmp_path / "perf").write_text(PERF)
    (tmp_path / "perf").chmod(0o755)
    Campaign.objects.update(perf="processes", profile=True)
    own = f"pid:{os.getpid()}"
    with running("--process", own, "--perf", path=str(tmp_path)) as port:
        watched_by(run, f"http://127.0.0.1:{port}/metrics")
        to_the_end(run)
        profile = eventually(lambda: RunProfile.objects.first(), 20, "the profile came").value()
    rows = list(run.machine_seconds.order_by("second"))
    assert {row.source for row in rows} == {"shop-1"}
    assert rows[-1].did["processes"][own]["threads"] >= 1
    assert rows[-1].busy_s > 0
    perf = [row.did["perf"] for row in rows if "counts" in row.did.get("perf", {})]
    assert perf[-1]["of"] == "processes"
    assert perf[-1]["counts"]["page-faults"] == [7 * perf[-1]["lasted_s"], 100]
    assert (profile.of, profile.samples) == ("processes", 9)
    assert 0 < profile.lasted_s < 10
    exporter_row = Exporter.objects.get()
    assert {"CPU", f"process {own}", "perf"} <= set(exporter_row.offers)
    assert exporter_row.machine
    assert problems(run) == []


def test_an_agent_with_a_certificate_of_its_own_is_verified_by_it(run, dispatcher, tmp_path):
    mine = issue()
    for name, pem in {"cert": mine.pem, "key": mine.key_pem}.items():
        (tmp_path / name).write_text(pem)
    with running("--cert", str(tmp_path / "cert"), "--key", str(tmp_path / "key")) as port:
        watched_by(run, f"https://127.0.0.1:{port}/metrics", ca_pem=mine.pem)
        to_the_end(run, 1.6)
    assert run.machine_seconds.exists()
    assert problems(run) == []


def test_an_agent_that_was_not_started_for_perf_says_so_on_the_runs_page(run, dispatcher):
    Campaign.objects.update(perf="machine", profile=True)
    with running() as port:
        watched_by(run, f"http://127.0.0.1:{port}/metrics")
        to_the_end(run, 1.6)
        profile = eventually(lambda: RunProfile.objects.first(), 20, "the profile came").value()
    faults = {row.did["perf"]["fault"] for row in run.machine_seconds.all()} | {profile.fault}
    assert len(faults) == 1
    assert "without --perf" in faults.pop()
