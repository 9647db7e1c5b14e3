"""Sends one request with the injector program: the same engine and clocks as a run."""

import json
import os
import subprocess
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Event, Timer
from typing import Any

from celery import shared_task
from django.conf import settings

from campaigns.domain.errors import Refused
from campaigns.domain.plan.first_request import AT_ONCE
from campaigns.models import Probe
from campaigns.services.first_requests import settle_campaign
from campaigns.services.probes import (
    ANSWER_WITHIN_S,
    claim_together,
    finish_probe,
    order_of,
)

_SILENT = "The injector program exited without an answer. See the worker's log."
_TOO_BUSY = (
    "The injector program had no answer after {:g} s and was ended: its machine is too busy. Try "
    "again when other programs there have finished."
)


@shared_task(name="workers.probe")
def probe(probe_id: int) -> None:
    """Make this request, and all that its campaign waits for, a few at a time."""
    found = claim_together(probe_id=probe_id, most=AT_ONCE)
    if not found:
        return
    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = _ask(pool, found)
        while asked:
            answered, asked = wait(asked, return_when=FIRST_COMPLETED)
            for each in answered:
                pk, result = each.result()
                finish_probe(probe_id=pk, result=result)
            asked |= _ask(pool, claim_together(probe_id=probe_id, most=AT_ONCE - len(asked)))
    if found[0].campaign_id:
        settle_campaign(campaign_id=found[0].campaign_id)


def _ask(pool: ThreadPoolExecutor, probes: Iterable[Probe]) -> set[Future]:
    return {pool.submit(_answer, order) for order in filter(None, map(_order, probes))}


def _order(probe: Probe) -> tuple[int, dict[str, Any]] | None:
    """None for one that cannot be ordered, such as one whose secret no key decrypts."""
    try:
        return probe.pk, order_of(probe)
    except Refused as refusal:
        finish_probe(probe_id=probe.pk, result=_failure(str(refusal)))
        return None


def _answer(asked: tuple[int, dict[str, Any]]) -> tuple[int, dict[str, Any]]:
    """Runs in a thread; touches no database."""
    pk, order = asked
    return pk, ask_injector(order)


def ask_injector(order: dict[str, Any], command=None, limit_s: float = ANSWER_WITHIN_S) -> dict:
    """The injector's answer to a probe order; a failure is returned as a result too. `limit_s`: for
    an injector that hangs; its own limits are shorter."""
    process = subprocess.Popen(
        command or settings.INJECTOR_COMMAND,
        cwd=settings.BASE_DIR,
        # The program needs none of our secrets.
        env={"PATH": os.environ.get("PATH", "")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    is_overdue = Event()

    def end() -> None:
        is_overdue.set()
        process.kill()

    watchdog = Timer(limit_s, end)
    watchdog.start()
    try:
        answer = _converse(process, order)
        return answer or _failure(_TOO_BUSY.format(limit_s) if is_overdue.is_set() else _SILENT)
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _converse(process: subprocess.Popen, order: dict[str, Any]) -> dict[str, Any] | None:
    """None without an answer. Keeps standard input open: the injector would take its end for a dead
    parent."""
    try:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return _failure("The injector program exited at once. See the worker's log.")
    for line in process.stdout:
        answer = _parsed(line)
        if answer.get("type") == "probe":
            return answer
        if answer.get("type") == "refused":
            return _failure(answer.get("reason", ""), answer.get("kind", "client_other"))
    return None


def _parsed(line: str) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _failure(detail: str, kind: str = "client_other") -> dict[str, Any]:
    return {"type": "probe", "error": kind, "detail": detail}
