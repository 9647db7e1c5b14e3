"""What is wrong, said with the names that somebody typed: options, not fields of a plan."""

import re
from collections.abc import Mapping

from campaigns.domain.errors import InvalidFields
from campaigns.domain.measured.outcomes import Kind
from workers.injector.cli_load import FIELDS
from workers.injector.order import Refusal

_LOAD = {f"load.{field}": option.replace("_", "-") for option, field in FIELDS.items()}
_OPTIONS = {
    **_LOAD,
    "load.stages": "stages",
    "load.per_injector": "per-process",
    "timeouts": "timeout",
    "timeouts.connect_s": "connect-timeout",
    "timeouts.tls_s": "tls-timeout",
    "expected_status": "expect",
    "order.kind": "order",
    "order.block_repeat": "block-repeat",
    "order.weights": "weights",
    "variables.order": "csv-order",
    "warm_up_s": "warm-up",
    "http_version": "http",
    "connection_mode": "keep-alive",
    "steps.0.headers": "header",
    "steps.0.body": "body",
    "steps.0.method": "method",
    "session.calls_per_connection": "calls-per-connection",
    "session.calls_per_session": "calls-per-session",
    "session.think_time": "think-time",
    "session.burst_length": "burst-length",
    "session.first_call_alone": "all-at-once",
    "session.pipeline_depth": "pipeline",
    "session.cookies": "cookies",
    "session.retry_on_failure": "retry-on-failure",
    "auth": "basic",
    "variables": "csv",
    "thresholds": "threshold",
    "exchange.size_bytes": "size",
    "exchange.mode": "exchange",
    "exchange.rate_per_s": "message-rate",
    "exchange.headers": "header",
    "exchange.subprotocols": "subprotocol",
    "exchange.messages": "messages",
    "exchange.verify": "verify",
    "exchange.binary": "binary",
    "exchange.close_code": "close-code",
    "exchange.close_timeout_s": "close-timeout",
}  # fmt: skip
_IN_ADDRESS = {"steps.0.path", "exchange.path"}
_EXTRACT = re.compile(r"steps\.\d+\.extract\b")
_OTHER_STEP = re.compile(r"steps\.[1-9]")
_ADVICE = {
    Kind.TLS_VERIFY: "--insecure takes any certificate; --ca-file trusts an authority of your own.",
}
# Forms have fields to empty; here an option is left out.
_FORM_WORDS = re.compile(r"\b(leave (?:it|this|them)) empty|\b[Ee]mpty (one|it|this)\b")


def lines_of(error: Exception) -> list[str]:
    """Each fault in a line of its own."""
    if isinstance(error, InvalidFields):
        lines = [_at_option(path, text) for path, text in error.errors.items()]
        return list(dict.fromkeys(lines))
    if isinstance(error, Refusal) and error.kind == Kind.ADDRESS_REFUSED:
        return [
            f"{error} If you may send load there, add --allow with its network, such as "
            "203.0.113.7/32."
        ]
    if isinstance(error, OSError) and error.filename:
        return [f"{error.filename}: {error.strerror}."]
    return str(error).splitlines()


def _at_option(path: str, text: str) -> str:
    if path in _IN_ADDRESS:
        return f"URL: {text}"
    text = _FORM_WORDS.sub(lambda found: f"{found[1]} out" if found[1] else _leave(found), text)
    if _EXTRACT.match(path):
        return f"--extract: {text}"
    if _OTHER_STEP.match(path):
        return f"--step: {text}"
    parts = path.split(".")
    for n_parts in range(len(parts), 0, -1):
        option = _OPTIONS.get(".".join(parts[:n_parts]))
        if option:
            return f"--{option}: {text}"
    return f"{path}: {text}"


def _leave(found: re.Match[str]) -> str:
    word = "Leave" if found[0][0] == "E" else "leave"
    return f"{word} {found[2]} out"


def advice(errors: Mapping[str, int]) -> list[str]:
    """What a person at the keyboard can change about these failures."""
    return [text for kind, text in _ADVICE.items() if kind in errors]
