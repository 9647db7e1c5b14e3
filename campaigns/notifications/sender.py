"""Sends notifications to addresses that people typed, in a process of its own.

    python -m campaigns.notifications.sender

Each line of standard input is an order, and forks a child that carries it out and answers with a
line. Whatever library dials, Python asks the guard before each connection, so the address that is
vetted is the one that is dialled. A child has none of our secrets, opens no file but those of
Python, starts no program, and ends after `LIMIT_S`.
"""

import json
import os
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import apprise
import requests

from campaigns.domain.plan.addresses import parse_networks, why_not_notified

LIMIT_S = 25
REQUEST_S = 10
GONE = 410
MEMORY_BYTES = 512 * 1024 * 1024
UNKNOWN = "This is no address of a service that notifications know."
_READABLE = (sys.prefix, sys.base_prefix, *filter(None, ssl.get_default_verify_paths()[:4]))
_READABLE += ("/dev/null", "/dev/urandom", "/usr/share/zoneinfo")
_PROGRAMS = {"subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.system"}
_PROGRAMS |= {"ctypes.dlopen", "os.remove", "os.rename", "os.mkdir"}
_DIALS = {"socket.connect", "socket.sendto", "socket.sendmsg"}


class DialGuard:
    """An audit hook of Python's: nothing in this process can take it away again."""

    def __init__(self, policy: Mapping[str, Any]):
        self._allowed = parse_networks(policy["allow"])
        self._never = frozenset(policy["never"])
        self.refusal = ""  # the last one

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _DIALS:
            self._vet(*arguments[:2])
        elif event == "open":
            self._vet_file(*arguments)
        elif event in _PROGRAMS:
            self._refuse(f"A notification may not use {event}.")

    def _vet(self, dialled: socket.socket, address: Any) -> None:
        if address is None:  # it is connected already
            return
        if dialled.family not in (socket.AF_INET, socket.AF_INET6):
            self._refuse("A notification goes over IP only.")
        # A name would be looked up after this; it is no address, and refused.
        if why := why_not_notified(str(address[0]), address[1], self._allowed, self._never):
            self._refuse(why)

    def _vet_file(self, path: Any, _mode: Any, flags: int) -> None:
        if isinstance(path, int):
            return
        real = os.path.realpath(os.fsdecode(path))
        is_read = not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if not (is_read and real.startswith(_READABLE)) and real != os.devnull:
            self._refuse(f"A notification may not open {path}.")

    def _refuse(self, why: str) -> None:
        self.refusal = why
        raise PermissionError(why)


def answer_to(order: Mapping[str, Any], guard: DialGuard) -> dict[str, Any]:
    """{"problem", "is_gone"}; {"name"} as well of an address that is only checked."""
    try:
        if "headers" in order:
            return _post(order)
        # What Apprise knows at this address; None of one that it does not.
        asset = apprise.AppriseAsset(
            app_id="benchsite",
            app_desc="benchsite",
            app_url=order.get("site", ""),
            image_url_logo="",
            image_url_mask="",
            async_mode=False,
            storage_mode=apprise.PersistentStoreMode.MEMORY,
        )
        service = apprise.Apprise.instantiate(
            order["address"], asset=asset, suppress_exceptions=True
        )
        if service is None:
            return {"problem": guard.refusal or UNKNOWN}
        if order.get("is_check"):
            return {"problem": "", "name": str(service.service_name)}
        with apprise.LogCapture(level=apprise.logging.WARNING) as log:
            sender = apprise.Apprise()
            sender.add(service)
            if sender.notify(title=order["title"], body=order["body"], body_format="markdown"):
                return {"problem": ""}
            lines = [
                each.split(" - ", 2)[-1] for each in log.getvalue().splitlines() if each.strip()
            ]
            last = lines[-1].strip() if lines else "The service did not take the message."
            return {"problem": guard.refusal or last}
    except Exception as error:  # of a plugin: the next attempt may go better
        return {"problem": guard.refusal or _words(error, order["address"])}


def _words(error: Exception, address: str) -> str:
    """Without its text, which may have the whole address, a secret."""
    host = urlsplit(address).hostname or "The service"
    match error:
        case requests.exceptions.SSLError():
            return f"The certificate of {host} is not accepted."
        case requests.exceptions.Timeout():
            return f"{host} did not answer within {REQUEST_S} s."
        case requests.exceptions.ConnectionError():
            return f"{host} cannot be reached."
    return f"The message could not be sent ({type(error).__name__})."


def _post(order: Mapping[str, Any]) -> dict[str, Any]:
    """One signed webhook. A redirect is an answer like others, and not followed."""
    with requests.Session() as session:
        session.trust_env = False
        with session.post(
            order["address"],
            data=order["body"].encode(),
            headers={
                "Content-Type": "application/json",
                "User-Agent": "benchsite",
                **order["headers"],
            },
            timeout=REQUEST_S,
            allow_redirects=False,
            stream=True,
        ) as reply:
            if reply.ok and not reply.is_redirect:
                return {"problem": ""}
            if reply.status_code == GONE:
                words = "The receiver answered 410: it wants no more."
            else:
                follows = " Redirects are not followed." if reply.is_redirect else ""
                words = f"The receiver answered {reply.status_code}.{follows}"
            return {"problem": words, "is_gone": reply.status_code == GONE}


def _carry_out(order: Mapping[str, Any]) -> None:
    """In a child. Its default action ends it, whatever it is doing."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT_S)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    bytes_ = MEMORY_BYTES if most == resource.RLIM_INFINITY else min(most, MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_DATA, (bytes_, bytes_))
    guard = DialGuard(order)
    sys.addaudithook(guard)
    answer = {"id": order["id"], **answer_to(order, guard)}
    answer["problem"] = answer["problem"][:400]
    # Shorter than what a pipe takes at once: answers of several children do not mix.
    os.write(sys.stdout.fileno(), (json.dumps(answer) + "\n").encode())


def main() -> None:
    apprise.Apprise.instantiate("json://localhost")  # loads what all children need
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin.buffer:
        order = json.loads(line)
        if os.fork() == 0:
            try:
                _carry_out(order)
            finally:
                os._exit(0)


if __name__ == "__main__":
    main()
