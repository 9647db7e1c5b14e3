"""A plan's own messages, and which of the server's messages is a reply. Made once for a plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.talk import LineKind, MessageRule
from campaigns.domain.plan.variables import filled_text
from workers.injector.decoding import Undecodable
from workers.injector.reply_check import Reply, finder

Values = Mapping[str, str]
# Of one connection: its values → the bytes of a message.
MakeText = Callable[[Values], bytes]


def maker_of(text: str) -> MakeText:
    """Of a text without variables the bytes are made once."""
    if "${" not in text:
        data = text.encode()
        return lambda values: data
    return lambda values: filled_text(text, values).encode()


class Matcher:
    """Tells replies; `begin` when a message is sent, and after each reply."""

    __slots__ = ("_fits", "_left", "rule")

    def __init__(self, rule: MessageRule, fits: Callable[[bytes], bool] | None):
        self.rule = rule
        self._fits = fits
        self._left = rule.nth

    @classmethod
    def maker(cls, rule: MessageRule) -> Callable[[], "Matcher"]:
        """What makes one for each connection: the check is compiled here."""
        return partial(cls, rule, rule.check and partial(_fits, finder(rule.check)))

    def is_reply(self, payload: bytes, sent: Callable[[], bytes]) -> bool:
        """`sent`: the message that it would answer."""
        if self._fits is not None:
            return self._fits(payload)
        if self.rule.is_echo:
            return payload == sent()
        self._left -= 1
        if self._left:
            return False
        self._left = self.rule.nth
        return True


def _fits(find: Callable[[Reply], object], payload: bytes) -> bool:
    try:
        return find(Reply.plain(payload)) is not None
    except Undecodable:
        return False


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """One of a message, what makes the matcher of one, and a pause."""

    make_text: MakeText | None = None
    make_matcher: Callable[[], Matcher] | None = None
    wait_s: float = 0.0


def scenario_of(exchange: Exchange) -> tuple[ScenarioStep, ...]:
    return tuple(
        ScenarioStep(make_text=maker_of(each.text))
        if each.kind == LineKind.SEND
        else ScenarioStep(make_matcher=Matcher.maker(each.rule))
        if each.kind == LineKind.EXPECT
        else ScenarioStep(wait_s=each.wait_s)
        for each in exchange.actions
    )
