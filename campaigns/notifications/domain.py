"""What is worth a message, what a message says, when a delivery is tried again, and how a webhook
is signed (Standard Webhooks 1.0). Pure."""

import base64
import hmac
import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple, Self

from campaigns.domain.analysis.capacity import CapacityWord
from campaigns.domain.analysis.ratio import Word

MOST_FACTS = 5


class EventKind(StrEnum):
    """What has happened. A value is stored, and is an event's `type` for webhooks."""

    ENDED = "campaign.ended"
    REGRESSION = "campaign.regression"
    RECOVERED = "campaign.recovered"
    NO_RESULT = "campaign.no_result"
    ON_HOLD = "campaign.on_hold"
    SCHEDULE = "schedule.silent"
    AGENT = "agent.silent"
    CERTIFICATE = "certificate.expires"
    TEST = "test"
    CHANGE = "change"  # of a test's level; announced as a regression, as recovered, or not at all

    @property
    def title(self) -> str:
        return CHOICES[self].title if self in CHOICES else self.name.capitalize()

    @property
    def is_of_campaign(self) -> bool:
        return self.value.startswith("campaign.")

    @property
    def wanted_by(self) -> frozenset["EventKind"]:
        """Those of which a channel has chosen one if it gets this: one message for one end."""
        return frozenset({self, EventKind.ENDED} if self in _ENDS else {self})


_ENDS = frozenset({EventKind.REGRESSION, EventKind.RECOVERED, EventKind.NO_RESULT})


class EventChoice(NamedTuple):
    """An event as people choose it: the head of its column, and what it means."""

    title: str
    meaning: str


CHOICES = {
    EventKind.ENDED: EventChoice("Finished", "Every campaign that ends"),
    EventKind.REGRESSION: EventChoice("Regression", "A test got slower"),
    EventKind.RECOVERED: EventChoice("Recovered", "A test that was slower is not any more"),
    EventKind.NO_RESULT: EventChoice("No result", "A campaign ended without a usable result"),
    EventKind.ON_HOLD: EventChoice("Needs a decision", "A preflight request failed"),
    EventKind.SCHEDULE: EventChoice("Schedule", "A schedule brought no usable result in time"),
    EventKind.AGENT: EventChoice("Agent silent", "An agent stopped answering, or answers again"),
    EventKind.CERTIFICATE: EventChoice("Certificate", "A certificate expires within 14 days"),
}
# Of a new channel: what somebody has to act on.
FIRST_CHOICES = tuple(
    kind for kind in CHOICES if kind not in {EventKind.ENDED, EventKind.RECOVERED}
)


# --- what changed --------------------------------------------------------------------------------
# Words against a baseline that decide; what is too close to call changes nothing.
_WORSE = {Word.SLOWER, CapacityWord.LESS}
_NOT_WORSE = {Word.SAME, Word.FASTER, Word.NOT_SLOWER, CapacityWord.MORE, CapacityWord.NOT_LESS}


def turn(before: Iterable[str], now: str) -> EventKind | None:
    """What a test's newest word is after its earlier ones, newest first."""
    last = next((each for each in before if each in _WORSE | _NOT_WORSE), "")
    if now in _WORSE:
        return None if last in _WORSE else EventKind.REGRESSION
    return EventKind.RECOVERED if last in _WORSE and now in _NOT_WORSE else None


def kind_of_end(
    turns: Collection[EventKind | None], *, is_usable: bool, is_stopped: bool
) -> EventKind:
    """Of a campaign, by what became of its tests. Whoever stopped it knows that there is no
    result."""
    for kind in (EventKind.REGRESSION, EventKind.RECOVERED):
        if kind in turns:
            return kind
    return EventKind.ENDED if is_usable or is_stopped else EventKind.NO_RESULT


# --- a message -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class EventMessage:
    """`headline` is a sentence. `data` is what webhooks get besides, such as intervals."""

    headline: str
    facts: tuple[tuple[str, str], ...] = ()
    url: str = ""
    link: str = "See the result"
    data: Mapping[str, Any] | None = None

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{**values, "facts": tuple((name, text) for name, text in values["facts"])})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        width = max((len(name) for name, _ in self.facts), default=0) + 2
        facts = "\n".join(f"{name:<{width}}{text}" for name, text in self.facts)
        link = f"{self.link}: {self.url}" if self.url else ""
        return "\n\n".join(filter(None, [self.headline, facts, link])) + "\n"

    @property
    def markdown(self) -> str:
        """Without the headline, for services that have titles."""
        facts = "\n".join(f"**{name}**: {text}  " for name, text in self.facts)
        link = f"[{self.link}]({self.url})" if self.url else ""
        return "\n\n".join(filter(None, [facts, link])) or self.headline

    def webhook_body(self, kind: str, at: str) -> str:
        """JSON as Standard Webhooks advise."""
        data = {"headline": self.headline, "facts": dict(self.facts), "url": self.url}
        body = {"type": kind, "timestamp": at, "data": {**data, **(self.data or {})}}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


# --- deliveries ----------------------------------------------------------------------------------
# Seconds after each attempt that failed; a day in all. Then the channel is paused.
RETRY_AFTER_S = (5, 30, 300, 1800, 7200, 18_000, 25_200, 36_000)


def retry_after_s(n_attempts: int) -> int | None:
    """None after the last."""
    return RETRY_AFTER_S[n_attempts - 1] if n_attempts <= len(RETRY_AFTER_S) else None


class Result(NamedTuple):
    """What came of an attempt. `problem`: a sentence, "" if it was delivered. `is_gone`: the
    receiver wants no more."""

    problem: str = ""
    is_gone: bool = False


# --- signatures ----------------------------------------------------------------------------------
_PREFIX = "whsec_"
SIGNED_BY = 2  # the newest secrets: a receiver can change to a new one at its own time


def new_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def signed_headers(keys: Sequence[str], number: str, at_s: int, body: str) -> dict[str, str]:
    """The headers of Standard Webhooks: a signature by each of the secrets."""
    content = f"{number}.{at_s}.{body}".encode()
    digests = (
        hmac.digest(base64.b64decode(key.removeprefix(_PREFIX)), content, sha256) for key in keys
    )
    return {
        "webhook-id": number,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(each).decode()}" for each in digests),
    }
