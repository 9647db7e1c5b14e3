"""The versions of HTTP, and what a plan can do with each."""

from collections.abc import Iterator
from enum import StrEnum

from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.session import Session, makes_visits

MAX_STREAMS = 1000


class HttpVersion(StrEnum):
    """1.0 keeps a connection only where both sides say keep-alive, as ab -k does. 2 is agreed on by
    ALPN over TLS, and taken for granted without TLS."""

    HTTP_1_1 = "1.1"
    HTTP_1_0 = "1.0"
    HTTP_2 = "2"


def version_faults(
    version: HttpVersion, streams: int, load: Load, session: Session
) -> Iterator[tuple[str, str]]:
    """(field, sentence) for what the version cannot do."""
    if version == HttpVersion.HTTP_1_0 and session.pipeline_depth > 1:
        yield "http_version", "HTTP/1.0 does not support pipelining; choose 1.1."
    if version == HttpVersion.HTTP_2:
        if session.pipeline_depth > 1:
            yield (
                "http_version",
                "HTTP/2 has no pipelining; set the streams per connection instead, or choose 1.1.",
            )
        if streams > 1 and (sentence := _why_one_stream(load, session)):
            yield "streams", sentence
    elif streams > 1:
        yield (
            "streams",
            f"HTTP/{version} has one request at a time on a connection; choose HTTP/2, or leave "
            "this empty.",
        )


def _why_one_stream(load: Load, session: Session) -> str:
    """A sentence where connections have one request at a time; else ""."""
    if load.model == Model.SEQUENTIAL:
        return "One after another is one stream; leave this empty, or choose closed."
    if makes_visits(load, session):
        if session.burst_length > 1:
            return ""
        return (
            "Requests are sent one after another, so one stream is enough; make the bursts longer, "
            "or leave this empty."
        )
    if load.counts_connections:
        return (
            "Each connection sends one request, so one stream is enough; set the requests per "
            "connection and make the bursts longer, or leave this empty."
        )
    if session.calls_per_session is not None:
        return (
            "With several streams users share a connection, so a session cannot end with its own; "
            "leave this empty, or let sessions arrive."
        )
    return ""
