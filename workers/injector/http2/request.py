"""A step as HTTP/2 sends it: a header block that is encoded once, and the body."""

from typing import Any

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.redirects import Redirects
from campaigns.domain.plan.step import Step, own_host
from workers.injector.http2 import frames
from workers.injector.http2.header_block import Field, encode
from workers.injector.http2.reply_heads import BlockMemo
from workers.injector.recorder import StepRecorder
from workers.injector.reply_check import ReplyRules
from workers.injector.request import Checked, Request

_WITH_A_LENGTH = {"POST", "PUT", "PATCH"}


class StreamRequest(Request):
    """`data` is a HEADERS frame for stream 0 of any size, and behind it the body."""

    __slots__ = ("_text",)

    memo: BlockMemo

    def __init__(self, plan: Plan, step: Step, data: bytes, recorder: StepRecorder, text: bytes):
        super().__init__(plan, step, data, recorder)
        has_rules = bool(step.checks or step.extract or plan.redirects != Redirects.OFF)
        self.memo = BlockMemo(plan, step.method, has_rules=has_rules)
        self._text = text

    @property
    def template(self) -> bytes:
        return self._text


class CheckedStreamRequest(Checked, StreamRequest):
    __slots__ = ("keep_bytes", "plain_head", "rules")

    def __init__(self, plan: Plan, step: Step, *rest: Any):
        super().__init__(plan, step, *rest)
        self.rules = ReplyRules(step)
        self.keep_bytes = self.rules.keep_bytes
        self.plain_head = None


def request_data(step: Step, scheme: str, authority: str) -> bytes:
    """The `data` of a request."""
    body, kind = step.content
    host = own_host(step.headers).strip(" \t") or authority
    named = {"method": step.method, "scheme": scheme, "authority": host, "path": step.path}
    pseudo = [(f":{name}", value) for name, value in named.items()]
    block = encode(pseudo + _headers(step, len(body), kind))
    flags = frames.END_HEADERS | (0 if body else frames.END_STREAM)
    return frames.frame(frames.HEADERS, flags, 0, block) + body


def request_text(step: Step, authority: str) -> bytes:
    """The same for people, as HTTP/1.1 would write it, without the body."""
    body, kind = step.content
    lines = [f"{step.method} {step.path} HTTP/2", f"host: {own_host(step.headers) or authority}"]
    lines += [f"{name}: {value}" for name, value in _headers(step, len(body), kind)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _headers(step: Step, body_bytes: int, kind: str) -> list[Field]:
    """Those of HTTP/1.1, in lower case; a connection's own have no place here, and around a value,
    which a variable may have filled in, no space. `kind`: the Content-Type that the body implies.
    """
    lower = ((name.lower(), value.strip(" \t")) for name, value in step.headers)
    given = [field for field in lower if field[0] != "host"]
    names = {name for name, _ in given}
    usual = [("user-agent", "benchsite"), ("accept", "*/*"), ("accept-encoding", "identity")]
    usual += [("content-type", kind)] if kind else []
    headers = [field for field in usual if field[0] not in names]
    headers += given
    if body_bytes or step.method in _WITH_A_LENGTH:
        headers.append(("content-length", str(body_bytes)))
    return headers
