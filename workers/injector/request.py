"""A step as bytes to send, with what its replies have taught so far."""

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import REPEATABLE_METHODS, Step
from workers.injector.http1 import Head, HeadMemo
from workers.injector.recorder import StepRecorder
from workers.injector.reply import ReplyReader

_SIMPLE_CAP = 512


class Request:
    """One step as bytes, with what its replies have taught so far.

    `simple` maps the bytes of a head to (status, bytes of the head, of the body, of the whole
    reply, whether the connection may stay) for expected replies whose length is known.
    """

    __slots__ = (
        "data", "events", "failures", "is_idempotent", "memo", "plan", "record", "recorder",
        "simple", "size_bytes", "step",
    )  # fmt: skip

    # How much of each body is kept, whatever its status.
    keep_bytes = 0

    def __init__(self, plan: Plan, step: Step, data: bytes, recorder: StepRecorder):
        self.plan = plan
        self.step = step
        self.data = data
        self.size_bytes = len(data)
        self.recorder = recorder
        self.record = recorder.record
        self.failures = recorder.failures
        self.events = recorder.events
        self.memo = HeadMemo(step.method, plan.http_version)
        self.simple: dict[bytes, tuple[int, int, int, int, bool]] = {}
        self.is_idempotent = step.method in REPEATABLE_METHODS

    def make_reader(self) -> ReplyReader:
        return ReplyReader(self.memo)

    @property
    def template(self) -> bytes:
        """The request as the plan has it: an example of a failure shows no variable's value."""
        return self.data

    def secret_values(self) -> tuple[str, ...]:
        """Values of this very request that an example must not show."""
        return ()

    def remember(self, first: bytes, head: Head) -> None:
        """Let the hot path know an expected head of known length, if `first` begins with it.

        It does not where an interim reply came before, or where the head came in pieces.
        """
        text = first[: head.size_bytes]
        if head.body_bytes is None or self.memo.known.get(text) is not head:
            return
        if len(self.simple) >= _SIMPLE_CAP:
            self.simple.clear()
        size, body = head.size_bytes, head.body_bytes
        self.simple[text] = (head.status, size, body, size + body, head.is_reusable)
