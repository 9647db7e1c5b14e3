"""Stores the examples of failures that came with a run's seconds."""

from typing import Any

from campaigns.domain.measured.redaction import printable, redacted, redacted_head
from campaigns.models import FailureExample

# More than an injector keeps by docs/injector.md: a limit for those that do not keep to it.
_MOST_CHARACTERS = 8000
_MOST_OF_A_SECOND = 50


def keep_examples(run_id: int, shard: int, seconds: list[dict[str, Any]]) -> None:
    """Redacts once more: not every injector may do what it should. The same again changes nothing.

    The caller checks that the seconds may be stored.
    """
    FailureExample.objects.bulk_create(
        (
            _row(example, run_id=run_id, shard=shard, second=second["second"], step=second["step"])
            for second in seconds
            for example in second.get("examples", ())[:_MOST_OF_A_SECOND]
        ),
        ignore_conflicts=True,
    )


def _row(example: dict[str, Any], **place: int) -> FailureExample:
    head, blank, body = _cut(example["reply"]).partition("\n\n")
    return FailureExample(
        kind=example["kind"],
        status=example["status"],
        at_us=example["at_us"],
        request=redacted_head(_cut(example["request"])),
        reply=redacted_head(head) + blank + redacted(body),
        body_bytes=example.get("body_bytes"),
        detail=redacted(_cut(example["detail"])),
        **place,
    )


def _cut(text: str) -> str:
    return printable(text[:_MOST_CHARACTERS])
