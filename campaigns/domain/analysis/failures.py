"""The target's failures in the words of the error: "404 Not Found to all 1,200 requests".

Headlines, lists, exports and the terminal all take them from here.
"""

from collections.abc import Iterable, Sequence
from http import HTTPStatus

from campaigns.domain.metrics.failures import DROPPED, FailureRow, most_frequent_first
from campaigns.domain.metrics.outcomes import CLIENT_KINDS, TIMEOUT_KINDS, WORDS, Kind
from campaigns.domain.units import count, counted, percent

# Failures that are not the target's: of the injector's host, of the site's rules, of a stop.
_NOT_OF_TARGET = {*CLIENT_KINDS, Kind.ADDRESS_REFUSED, Kind.ABORTED_BY_STOP}
# From this share on, a failure is the first thing to say about a run.
HEADLINE_SHARE = 0.01
# The target's reasons for which these words stand.
FAILED_CODES = frozenset({"no_success", "errors", "errors_at_limit"})
# How a target refuses or gives up that gets more than it takes; other failures have other causes.
_OVERLOAD_STATUSES = {429, 502, 503, 504}
_OVERLOAD_KINDS = {
    *TIMEOUT_KINDS,
    Kind.CONNECT_REFUSED,
    Kind.RESET,
    Kind.EOF_BEFORE_REPLY,
    Kind.EOF_MID_BODY,
    Kind.WRITE_ERROR,
}
_MOST_NAMED = 3
_MOST_DETAILS = 2


def status_words(status: int) -> str:
    """A status with its standard phrase: "404 Not Found"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def kind_words(kind: str) -> str:
    """What a page calls a kind of failure."""
    return "no free connection" if kind == DROPPED else WORDS.get(kind, kind)


def detail_words(row: FailureRow) -> str:
    """What its failures said beyond their kind, the most frequent first; "" for nothing."""
    if row.status:
        return ""
    details = sorted(row.details, key=lambda detail: -row.details[detail])
    more = [f"{len(details) - _MOST_DETAILS} more"] if len(details) > _MOST_DETAILS else []
    return "; ".join(details[:_MOST_DETAILS] + more)


def row_words(row: FailureRow) -> str:
    """ "not an HTTP reply: two different Content-Length headers"."""
    return ": ".join(filter(None, (kind_words(row.kind), detail_words(row))))


def cause_words(row: FailureRow) -> str:
    """The status if there was a reply, else the kind with its details."""
    return status_words(row.status) if row.status else row_words(row)


def causes_of(rows: Iterable[FailureRow]) -> list[FailureRow]:
    """A row for each kind and status, of all steps together, the most frequent first."""
    causes: dict[tuple[str, int], FailureRow] = {}
    for row in rows:
        key = row.kind, row.status
        causes.setdefault(key, FailureRow(row.step, *key)).merge(row)
    return most_frequent_first(causes.values())


def of_target(rows: Iterable[FailureRow]) -> list[FailureRow]:
    """The failures that the target, or the way to it, is the cause of."""
    return [row for row in rows if row.kind not in _NOT_OF_TARGET]


def is_of_overload(row: FailureRow) -> bool:
    """Whether a target fails so that gets more requests than it takes."""
    return row.status in _OVERLOAD_STATUSES if row.status else row.kind in _OVERLOAD_KINDS


def failure_share(rows: Iterable[FailureRow], attempts: int) -> float:
    """The share of the attempts that failed at the target."""
    return sum(row.count for row in of_target(rows)) / attempts if attempts else 0.0


def everything_failed(rows: Iterable[FailureRow], attempts: int) -> bool:
    """Whether there were attempts, and each of them failed at the target."""
    return attempts > 0 and failure_share(rows, attempts) >= 1


def failure_words(rows: Sequence[FailureRow], attempts: int, noun: str = "requests") -> str:
    """What failed, without a full stop; "" if nothing did.

    "404 Not Found to all 1,200 requests", "Connection refused for all 100 requests",
    "20 % failed with 503 Service Unavailable".
    """
    causes = causes_of(of_target(rows))
    n_failed = sum(each.count for each in causes)
    if not causes or not attempts:
        return ""
    if n_failed >= attempts:
        everything = f"all {counted(attempts, noun)}" if attempts > 1 else f"the only {noun[:-1]}"
        if len(causes) == 1:
            (only,) = causes
            words = status_words(only.status) if only.status else kind_words(only.kind)
            whole = f"{words[0].upper()}{words[1:]} {'to' if only.status else 'for'} {everything}"
            return ": ".join(filter(None, (whole, detail_words(only))))
        named = [f"{cause_words(each)} ({count(each.count)})" for each in causes[:_MOST_NAMED]]
        more = len(causes) - len(named)
        if more:
            named.append(f"{counted(more, 'other errors')}")
        return f"All {counted(attempts, noun)} failed: {', '.join(named)}"
    mostly = ", mostly" if len(causes) > 1 else ""
    joint = " with" if causes[0].status else (" by" if mostly else ":")
    words = cause_words(causes[0])
    return f"{share_words(n_failed, attempts)} failed{mostly}{joint} {words}"


def share_words(some: int, attempts: int) -> str:
    """A share with as few decimals as it needs: "20 %", "18.1 %"."""
    text = percent(some / attempts)
    digits, unit = text[:-2], text[-2:]
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + unit
