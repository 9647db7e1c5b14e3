"""The site: what its clock shows, and the sending of seconds to it."""

import http.client
import json
import re
import ssl
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from workers.agent.machine import SHORTEST_S, Interval

ADDRESS = "/api/v1/agents/seconds/"
KEPT_S = 3600
MOST_PROFILES = 10  # that wait, and that the site takes at once
AT_ONCE = 60  # seconds in a request: the site takes 100,000 values, and a machine has 1,024 cores
# Ours is a line; what else answers at a wrong address may have no end.
MOST_ANSWER_BYTES = 64 * 1024
_NS = 1_000_000_000
_TOKEN = re.compile(r"[!-~]+")  # what a header can carry


def boot_ns() -> int:
    """Unlike the wall clock it is never set; unlike CLOCK_MONOTONIC it goes on in a suspend."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class SiteClock:
    """The site's clock as seen from here: by the quickest of the last round trips, or by this
    machine's own clock before the first."""

    def __init__(self) -> None:
        self._trips: deque[tuple[int, int]] = deque(maxlen=8)  # (how long it took, offset), ns

    def note(self, asked_ns: int, answered_ns: int, site_s: float) -> None:
        took_ns = answered_ns - asked_ns
        offset_ns = round(site_s * _NS) - (asked_ns + answered_ns) // 2
        # An older trip that contradicts this one was before a clock was set.
        agreeing = [each for each in self._trips if abs(each[1] - offset_ns) <= each[0] + took_ns]
        self._trips = deque([*agreeing, (took_ns, offset_ns)], maxlen=8)

    @property
    def is_known(self) -> bool:
        return bool(self._trips)

    @property
    def offset_ns(self) -> int:
        return min(self._trips)[1] if self._trips else time.time_ns() - boot_ns()

    @property
    def error_s(self) -> float:
        return min(self._trips)[0] / 2 / _NS if self._trips else 0.0

    def ahead_s(self) -> float:
        """How far this machine's own clock is ahead of the site's."""
        return (time.time_ns() - boot_ns() - self.offset_ns) / _NS

    def to_next_second_s(self) -> float:
        """Until the site's clock shows a whole second."""
        left_s = 1 - (boot_ns() + self.offset_ns) % _NS / _NS
        return left_s if left_s > SHORTEST_S else left_s + 1


class TokenRefused(Exception):
    """The site does not know the token, or knows it no more."""


class NotTaken(Exception):
    """The site refuses what was sent; sending it again would not help."""


class SiteClient:
    """Where the seconds go: one address, over HTTPS wherever it is not this machine."""

    def __init__(self, url: str, token: str, ca_file: str | None = None):
        is_tls, self._host, self._port, path = _read_url(url)
        if not _TOKEN.fullmatch(token):
            raise SystemExit("This is no whole token. Copy it from the line on the target's page.")
        self._path = path.rstrip("/") + ADDRESS
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._context = _trusting(ca_file) if is_tls else None

    def post(self, body: str) -> tuple[int, int, dict[str, Any]]:
        """(asked, answered, the answer), by CLOCK_BOOTTIME. Raises OSError while it is away."""
        connection = self._connection()
        try:
            connection.connect()
            asked_ns = boot_ns()
            connection.request("POST", self._path, body.encode(), self._headers)
            reply = connection.getresponse()
            text = reply.read(MOST_ANSWER_BYTES)
            answered_ns = boot_ns()
        except http.client.HTTPException as error:
            raise OSError(str(error) or type(error).__name__) from error
        finally:
            connection.close()
        return asked_ns, answered_ns, _answer(reply.status, text)

    def _connection(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=10)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=10, context=self._context
        )


def _read_url(url: str) -> tuple[bool, str, int | None, str]:
    try:
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname:
            return parts.scheme == "https", parts.hostname, parts.port, parts.path
    except ValueError:  # a port or an IPv6 address that is none
        pass
    raise SystemExit(f"{url} is no address of a benchsite: write https://bench.example.org.")


def _trusting(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError:
        raise SystemExit(f"--ca-file {ca_file}: there is no certificate (PEM) in it.") from None
    except OSError as error:
        raise SystemExit(f"--ca-file {ca_file}: {error.strerror}.") from None


def _answer(status: int, text: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = {}
    if status == 200 and isinstance(answer, dict):
        return answer
    try:
        why = str(answer["error"]["message"])
    except (KeyError, TypeError):
        why = f"it answered {status}"
    if status in {401, 403}:
        raise TokenRefused(why)
    if status in {400, 409, 413}:
        raise NotTaken(why)
    raise OSError(why)


class Outbox:
    """The seconds that the site does not have yet, and the sending of them. `obey` takes what the
    site answers."""

    def __init__(
        self,
        post: Callable[[str], tuple],
        clock: SiteClock,
        about: Mapping[str, Any],
        obey: Callable[[Mapping[str, Any]], None] = lambda answer: None,
    ):
        self._post, self._clock, self._about, self._obey = post, clock, about, obey
        self._waiting: deque[tuple[int, float, str]] = deque(maxlen=KEPT_S)
        self._profiles: deque[dict[str, Any]] = deque(maxlen=MOST_PROFILES)
        self.is_away = False

    def add(self, seen: Interval) -> None:
        """Kept as text, which takes a tenth of the memory."""
        text = json.dumps(seen.values, separators=(",", ":"))
        self._waiting.append((seen.middle_ns, seen.lasted_s, text))

    def add_profile(self, profile: dict[str, Any]) -> None:
        """Times by CLOCK_BOOTTIME. May come from another thread."""
        self._profiles.append(profile)

    def says_hello(self) -> bool:
        """Asks only for the site's clock; False while it is away. Raises TokenRefused."""
        return self._send([])

    def send_all(self) -> None:
        """Raises TokenRefused. What the site cannot take now stays."""
        while batch := list(self._waiting)[:AT_ONCE]:
            # By this machine's own clock they could be at another time.
            if not self._clock.is_known and not self.says_hello():
                return
            if not self._send(batch):
                return
            last_ns = batch[-1][0]
            while self._waiting and self._waiting[0][0] <= last_ns:
                self._waiting.popleft()

    def _send(self, batch: Sequence[tuple[int, float, str]]) -> bool:
        profiles = list(self._profiles)
        try:
            asked_ns, answered_ns, answer = self._post(self._body(batch, profiles))
            self._clock.note(asked_ns, answered_ns, float(answer["now"]))
            self._obey(answer)
        except NotTaken as refusal:
            say(f"{len(batch)} seconds were not taken: {refusal}")
        except (OSError, KeyError, TypeError, ValueError, OverflowError) as error:
            if not self.is_away:
                say(f"The site takes nothing now ({error}). Up to an hour is kept and sent later.")
            self.is_away = True
            return False
        for profile in profiles:
            self._profiles.remove(profile)
        if self.is_away:
            say("The site takes reports again.")
        self.is_away = False
        return True

    def _body(
        self, batch: Iterable[tuple[int, float, str]], profiles: Sequence[Mapping[str, Any]]
    ) -> str:
        offset_ns = self._clock.offset_ns
        about = {
            **self._about,
            "clock_ahead_s": round(self._clock.ahead_s(), 6),
            "clock_error_s": round(self._clock.error_s, 6),
        }
        if profiles:
            about["profiles"] = [
                {key.replace("_ns", "_s"): (value + offset_ns) / _NS if "_ns" in key else value
                 for key, value in profile.items()}
                for profile in profiles
            ]  # fmt: skip
        seconds = [
            f'{{"at_s":{(middle_ns + offset_ns) / _NS:.3f},"lasted_s":{lasted_s:.3f},"did":{text}}}'
            for middle_ns, lasted_s, text in batch
        ]
        return f'{json.dumps(about)[:-1]},"seconds":[{",".join(seconds)}]}}'


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
