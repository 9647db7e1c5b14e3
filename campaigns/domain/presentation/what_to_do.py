"""What was wrong, and what to do about it. Of a failure, by kind and status: on the page of a
single request, and in each row of the errors of a run or campaign. Of a target that failed, or a
measurement without an answer: at most three remedies, the likeliest first, each with one place
where it is done. And what comes next: the questions that a new campaign answers, and more blocks
of a finished one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from campaigns.domain.analysis.criteria import CRITERIA, ONLY_REDIRECTS, UNSENT
from campaigns.domain.analysis.judgement import Judgement, JudgementReason, in_short, value_words
from campaigns.domain.analysis.limit import OTHERS, blame
from campaigns.domain.analysis.messages import Sentence, say
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.metrics.outcomes import (
    ALSO,
    CERTIFICATE_KINDS,
    CLIENT_KINDS,
    DROPPED,
    TIMEOUT_KINDS,
    WORDS,
    Detail,
    FailureRow,
    Kind,
    cause_words,
    causes_of,
    everything_failed,
)
from campaigns.domain.plan.turns import LEAST_S_OF_AN_ARM, LONGEST_LIMIT_S
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.overhead_table import OverheadAnswer
from campaigns.domain.units import counted, duration


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to do: what is wrong, how to mend it, and the place (`what_to_do.Place`)."""

    title: str
    text: str
    place: str


_ACCEPT = "enter its SHA-256 under “Only accepted certificate, SHA-256” of the target"
REMEDIES: dict[Kind, str] = {
    Kind.DNS_FAILED: "Check the spelling of the host. The injector host resolves "
    "the name and may use a different name server than yours.",
    Kind.ADDRESS_REFUSED: "Prove on the target's page that the host is yours, where the page "
    "offers that. Otherwise ask the administrator to list its network in "
    "BENCHSITE_ALLOWED_NETWORKS.",
    Kind.CONNECT_REFUSED: "Is the server running on this port? Check the port, and the address "
    "that the server listens on.",
    Kind.CONNECT_TIMEOUT: "The server didn't answer. Usually a firewall drops the packets, or the "
    "address is wrong.",
    Kind.CONNECT_UNREACHABLE: "The injector host has no route to this address. Check the "
    "address, the VPN and the routing.",
    Kind.TLS_HANDSHAKE: "The server ended the handshake. Its log may say why.",
    Kind.TLS_VERIFY: f"To accept this certificate, {_ACCEPT}.",
    Kind.TLS_NAME: "Use a name of the certificate as the endpoint's “Server name (SNI)”.",
    Kind.TLS_EXPIRED: f"Until the certificate is renewed, accept it: {_ACCEPT}.",
    Kind.TLS_NOT_YET_VALID: "Check the clocks of the injector host and of whoever issued it.",
    Kind.TLS_SELF_SIGNED: f"To accept this certificate, {_ACCEPT}.",
    Kind.TLS_UNKNOWN_ISSUER: "Paste the issuer's certificate under “Trusted authorities, PEM” of "
    "the target.",
    Kind.TLS_FINGERPRINT: "Look at the new certificate by one request. To accept it, replace the "
    "value of “Only accepted certificate, SHA-256” of the target.",
    Kind.TLS_TIMEOUT: "The port accepts connections, but TLS did not finish in time. Perhaps it "
    "is a plain HTTP port, or the server is overloaded.",
    Kind.RESET: "The server or a device in between reset the connection: an overload limit, a "
    "firewall, or a port that expects HTTPS.",
    Kind.EOF_BEFORE_REPLY: "The server closed the connection without a reply. Often the port "
    "expects HTTPS, or the process crashed.",
    Kind.FIRST_BYTE_TIMEOUT: "The request was sent but nothing came back. Check the path, and "
    "whether the server's log shows the request.",
    Kind.BODY_TIMEOUT: "The reply started and then stalled. Compare the length that the "
    "server announces with what it sends.",
    Kind.EOF_MID_BODY: "The server announced more than it sent, or crashed while replying.",
    Kind.HTTP_PARSE: "The detail names what breaks HTTP/1.1. Mend it in the server, or in a proxy "
    "before it.",
    Kind.HEADER_CAP: "The response header is larger than any server should send.",
    Kind.BODY_CAP: "Measure a path with a smaller response.",
    Kind.REDIRECT_FAILED: "The detail says why. Try one request: it shows where each redirect "
    "leads. A server may redirect in a circle.",
    Kind.CHECK_FAILED: "The server answered with another content. The detail says what was "
    "expected and what came; correct the step's check if the reply is right.",
    Kind.VALUE_MISSING: "The reply has no value for a variable of later requests. Compare the "
    "pattern or path with the reply; name? in place of name lets the value be missing.",
    Kind.BODY_MISMATCH: "The server's answer is not an echo of the message. Check that the path "
    "echoes messages, or verify only the length.",
    Kind.WS_UPGRADE_REJECTED: "The server answered with plain HTTP. Check the path, the "
    "subprotocol, and whether a proxy in between allows upgrades.",
    Kind.WS_PROTOCOL: "The server violated RFC 6455. Its log may say why.",
    Kind.WS_CLOSE_TIMEOUT: "The server did not answer the close frame, or did not close the "
    "connection after it.",
    Kind.H2_NOT_SPOKEN: "Switch HTTP/2 on at the server, or choose HTTP/1.1 in the plan. Without "
    "TLS the server must accept HTTP/2 at once: no upgrade from HTTP/1.1 is requested.",
    Kind.H2_PROTOCOL: "The server violated RFC 9113. Its log may say why.",
    Kind.H2_STREAM_RESET: "The server reset this request's stream; the detail has its code. Its "
    "log may say why.",
    Kind.H2_GOAWAY: "The server closed the connection with requests on it. Its limits of time and "
    "of requests per connection may be too low, or it was restarted.",
    Kind.WRITE_TIMEOUT: "The server accepts connections but does not read from them: it is "
    "overloaded, or its workers are busy.",
    Kind.WRITE_ERROR: "The server closed the connection while the request was being sent. Often "
    "the body is too large for it.",
    Kind.ABORTED_BY_STOP: "Nothing to fix: these were in flight when the run was stopped.",
    Kind.CLIENT_FD_EXHAUSTED: "Raise the limit of open files (ulimit -n) on the injector host.",
    Kind.CLIENT_FILE_TABLE: "Raise fs.file-max on the injector host.",
    Kind.CLIENT_OTHER: "This went wrong in the injector, not at the target. The reason is below.",
    Kind.CLIENT_PORTS: "Wait a minute, or widen net.ipv4.ip_local_port_range on the injector's "
    "host.",
}
# Of failures whose details begin so, instead of their kind's.
DETAIL_REMEDIES: dict[Detail, str] = {
    Detail.PLAIN_HTTP: "Choose HTTP instead of HTTPS for this endpoint, or its HTTPS port.",
    Detail.NO_TLS: "Another service listens on this port. Check the port.",
    Detail.NO_VERSION: "Allow a TLS version in the target's TLS options that the server has. "
    "TLS 1.1 and older are not spoken.",
    Detail.NO_CIPHER: "Allow a cipher, group and signature algorithm in the target's TLS options "
    "that the server has.",
    Detail.UNKNOWN_NAME: "Enter a name that the server knows as the endpoint's “Server name "
    "(SNI)”.",
    Detail.WANTS_CERTIFICATE: "Enter a client certificate in the target's TLS options.",
    Detail.TLS: "Choose HTTPS instead of HTTP for this endpoint, or its HTTP port.",
    Detail.NOT_HTTP: "Another service listens on this port. Check the port.",
    Detail.NO_MESSAGE: "Compare the rule with the messages that the server sends.",
}
# Of the second thing that is wrong with a certificate, beside its kind's.
_ALSO_REMEDIES: dict[Detail, str] = {
    Detail.EXPIRED: REMEDIES[Kind.TLS_EXPIRED],
    Detail.NOT_YET_VALID: REMEDIES[Kind.TLS_NOT_YET_VALID],
}
# Statuses that the plan does not expect; by the first digit where the status itself has no row.
STATUS_REMEDIES: dict[int, str] = {
    3: "The server redirects. Let the plan follow redirects, or expect this status.",
    4: "The server refuses the request. Compare it with one that works.",
    5: "The server failed. Its log of these seconds says why.",
    400: "The server did not understand the request. Compare its headers and body with one that "
    "works.",
    401: "The server wants credentials. Set them under the plan's authentication.",
    403: "The server forbids this. Check the credentials, and its rules for addresses and user "
    "agents.",
    404: "Nothing was found at this path. Check it, and the host name that the server expects.",
    405: "The path does not accept this method. Check the method.",
    408: "The server waited too long for the request. It may be overloaded.",
    413: "The body is too large for the server. Send a smaller one, or raise its limit.",
    415: "The server does not accept this kind of body. Check the Content-Type header.",
    429: "The server limits requests of one client. Raise that limit, or send fewer.",
    502: "The proxy got no valid answer from the server behind it. Check that this one is running.",
    503: "The server refuses for now: it is overloaded, out of workers, or in maintenance.",
    504: "The proxy waited too long for the server behind it. That server is slow or overloaded.",
}
_OF_DROPPED = (
    "All connections were busy when the request was due. Allow more in flight, or take it as the "
    "target's limit."
)
FALLBACK = "Try it from the injector host with curl -v and compare."


def remedy(kind: str, status: int = 0, details: Iterable[str] = ()) -> str:
    """`status` is that of a whole reply, 0 without one; `details` of those failures."""
    if status:
        return STATUS_REMEDIES.get(status) or STATUS_REMEDIES.get(status // 100) or FALLBACK
    if kind == DROPPED:
        return _OF_DROPPED
    details = list(details)
    for begins, text in DETAIL_REMEDIES.items():
        if _any_begins(details, begins):
            return text
    try:
        first = REMEDIES.get(Kind(kind), FALLBACK)
    except ValueError:
        return FALLBACK
    seconds = [detail.rpartition(ALSO)[2] for detail in details if ALSO in detail]
    also = [text for begins, text in _ALSO_REMEDIES.items() if _any_begins(seconds, begins)]
    return " ".join(dict.fromkeys([first, *also]))


def _any_begins(details: Iterable[str], begins: str) -> bool:
    return any(detail.startswith(begins) for detail in details)


def words_of(kind: str) -> str:
    """The kind in words; an unknown one without its underscores."""
    try:
        return WORDS[Kind(kind)]
    except ValueError:
        return kind.replace("_", " ")


def frequent_cause(judgements: Iterable[Judgement], n_runs: int, nouns: str = "runs") -> str:
    """The most frequent cause in the judgements of runs without an answer, of `n_runs` in all:
    "the injector had no CPU in 14 of 15 runs"."""
    by_cause: dict[str, list[JudgementReason]] = {}
    for each in map(blame, judgements):
        by_cause.setdefault(CRITERIA[each.code].cause, []).append(each)
    alike = max(by_cause.values(), key=len)
    cause = blamed_words(alike)
    return f"{cause} in {len(alike)} of {counted(n_runs, nouns)}" if n_runs > 1 else cause


def blamed_words(alike: Sequence[JudgementReason]) -> str:
    """The cause of one or several runs, with its largest figure."""
    worst = max(alike, key=lambda each: each.value or 0.0)
    if worst.code in UNSENT:
        return "the injector did not send what was planned"
    most = value_words(worst.code, worst.value or 0.0, worst.limit)
    return in_short(worst, f"up to {most}" if len(alike) > 1 else most)


def blamed_sentence(alike: Sequence[JudgementReason], worst: JudgementReason) -> str:
    """The same in a sentence, if others than the injector are to blame; else the `worst` doubt."""
    if len(alike) == 1 or worst.code not in OTHERS:
        return worst.text
    words = blamed_words(alike)
    return f"{words[:1].upper()}{words[1:]}."


def no_answer_words(judgements: Iterable[Judgement], n_runs: int, *, so_far: bool = False) -> str:
    """ "No answer: the injector had no CPU in 14 of 15 runs"; without a count for one run."""
    return f"No answer{' so far' if so_far else ''}: {frequent_cause(judgements, n_runs)}"


_MOST = 3
_MOST_CAUSES = 2


class Place(StrEnum):
    """Where a remedy is done; "" for one that is not done in benchsite."""

    PLAN = "plan"
    TARGET = "target"
    TRY = "try"
    LIMIT = "limit"
    AGAIN = "again"
    HOSTS = "hosts"


_MEASURE_AGAIN = Remedy(
    "Measure again.", "This measurement says nothing about the target.", Place.AGAIN
)
_MEASURE_THE_REST = Remedy(
    "Measure again.", "The tests without a usable run say nothing about their targets.", Place.AGAIN
)
_MEASURE_TAIL = Remedy(
    "Measure again when the machine is quiet.",
    "The median without the injector's part is good. Average and p99 need a quiet machine.",
    Place.AGAIN,
)
_NOT_THE_PAGE = Remedy(
    "Do you want the page behind the redirect?",
    "Then follow redirects: choose it under HTTP in the plan. Follow them everywhere where they "
    "lead to another origin.",
    Place.PLAN,
)
_FIND_LIMIT = Remedy(
    "Find the rate that it holds.",
    "Ask how much it can take, or send less until it keeps up.",
    Place.LIMIT,
)
# Where the address or its certificate is what to mend.
_OF_ENDPOINT = {
    Kind.DNS_FAILED, Kind.CONNECT_REFUSED, Kind.CONNECT_TIMEOUT, Kind.CONNECT_UNREACHABLE,
    Kind.TLS_HANDSHAKE, Kind.TLS_TIMEOUT, Kind.HTTP_PARSE, *CERTIFICATE_KINDS,
}  # fmt: skip
_WHATEVER_THE_INJECTOR = {
    Kind.DNS_FAILED, Kind.CONNECT_REFUSED, Kind.CONNECT_UNREACHABLE, *CERTIFICATE_KINDS,
}  # fmt: skip
_OF_LOGIN = {401, 403}


def what_to_do(
    judgements: Iterable[Judgement], rows: Sequence[FailureRow], attempts: int, badge: Answers
) -> tuple[Remedy, ...]:
    """() where the measurement can be used and the target neither failed nor was overloaded, nor
    did nothing but redirect.

    `rows` are the failures of so many attempts, `badge` is what the badge tells. Where each attempt
    was refused or answered wrongly, that is what to mend, whatever the injector lacked.
    """
    judgements = list(judgements)
    if badge.trust == Trust.NO_ANSWER:
        # No injector makes such failures, however busy it is.
        is_certain = all(row.status > 0 or row.kind in _WHATEVER_THE_INJECTOR for row in rows)
        if is_certain and everything_failed(rows, attempts):
            return (*_of_failures(rows), *_of_injector(judgements))[:_MOST]
        again = _MEASURE_THE_REST if badge.is_usable_in_part else _MEASURE_AGAIN
        return (*_of_injector(judgements), again)
    if badge.target_state == TargetState.FAILING:
        return tuple(_of_failures(rows))[:_MOST]
    if badge.trust == Trust.BUSY:
        return (*_of_injector(judgements), _MEASURE_TAIL)
    if judgements and all(each.target.has(ONLY_REDIRECTS) for each in judgements):
        return (_NOT_THE_PAGE,)
    if badge.target_state == TargetState.OVERLOADED and not badge.finds_limit:
        return (_FIND_LIMIT,)
    return ()


def _of_injector(judgements: Iterable[Judgement]) -> list[Remedy]:
    """Of the runs whose figures were spoilt: what others were doubted for spoilt nothing."""
    causes = [blame(each) for each in judgements if each.is_in_doubt]
    by_text = {}
    for code, _ in Counter(each.code for each in causes).most_common():
        cause = blamed_words([each for each in causes if each.code == code])
        text = CRITERIA[code].remedy
        by_text.setdefault(text, Remedy(f"{cause[:1].upper()}{cause[1:]}.", text, Place.HOSTS))
    return list(by_text.values())[:_MOST_CAUSES]


def _of_failures(rows: Sequence[FailureRow]) -> Iterable[Remedy]:
    causes = causes_of(row for row in rows if row.kind and row.kind != Kind.ABORTED_BY_STOP)
    for row in causes[:_MOST_CAUSES]:
        words = cause_words(row)
        title = f"{words[:1].upper()}{words[1:]}."
        yield Remedy(title, remedy(row.kind, row.status, row.details), _place(row.kind, row.status))
    if len(causes) == 1 and 0 < (status := causes[0].status) < 500:
        text = "Then count it as right: add it to the plan's expected statuses."
        yield Remedy(f"Is {status} what you expect?", text, Place.PLAN)


def _place(kind: str, status: int) -> str:
    if status >= 500 or status in (408, 429):
        return Place.LIMIT
    if status:
        return Place.PLAN if status in _OF_LOGIN or status < 400 else Place.TRY
    if kind in _OF_ENDPOINT:
        return Place.TARGET
    if kind == DROPPED or kind in TIMEOUT_KINDS:
        return Place.LIMIT
    return Place.HOSTS if kind in CLIENT_KINDS else Place.TRY


@dataclass(frozen=True, slots=True)
class NextStep:
    """`text` says why, where the first line does not; `label` what to do; `blocks` are to be added
    (0: no more fit), of arms that take turns as passes of `more_s` each."""

    text: str
    label: str = ""
    blocks: int = 0
    more_s: float | None = None


def next_step(overheads: Sequence[OverheadAnswer], room: int) -> NextStep | None:
    """For a campaign to which `room` more blocks can be added; None if all is settled, or where
    more of the same would end alike."""
    seconds = [each.more_s for each in overheads if each.more_s]
    if seconds and room and max(seconds) <= LONGEST_LIMIT_S:
        more_s = max(LEAST_S_OF_AN_ARM, *seconds)
        return NextStep("", f"Measure {duration(more_s)} more", 1, more_s)
    blocks_wanted = [each.more for each in overheads if each.more and each.n_usable]
    if not blocks_wanted:
        return None
    fitting = [more for more in blocks_wanted if more <= room]
    more = max(fitting or blocks_wanted)
    blocks = counted(more, "more blocks")
    if not fitting:
        return NextStep("Too noisy to settle with more runs. Try longer runs.")
    return NextStep(say("settle", more=blocks), f"Add {counted(more, 'blocks')}", more)


class AskedQuestion(NamedTuple):
    """What the form of a campaign can be filled in for. `takes`: usually."""

    key: str
    title: str
    words: str
    takes: str


ASKED_QUESTIONS = (
    AskedQuestion(
        "https", "What does HTTPS cost?", "HTTP against HTTPS of one server", "about 30 s"
    ),
    AskedQuestion(
        "faster",
        "Which one is faster?",
        "Two servers, releases or settings, side by side",
        "about 30 s",
    ),
    AskedQuestion(
        "limit",
        "How much can it handle?",
        "The highest rate that keeps p95 under a limit",
        "about 10 min",
    ),
    AskedQuestion(
        "steady",
        "How does it hold up?",
        "A fixed load for minutes or hours",
        "minutes to hours",
    ),
)
QUESTION_TITLES = {each.key: each.title for each in ASKED_QUESTIONS}


def nothing_to_tick(*, has_arms: bool, has_plans: bool) -> Sentence:
    """Why the form of a new campaign has no cell to tick."""
    if not has_arms:
        what, why = "no target with an endpoint", " yet."
    elif not has_plans:
        what, why = "no plan", " yet."
    else:
        what = "no endpoint that fits its plans"
        why = ": WebSocket plans need a ws or wss endpoint, HTTP plans an http or https endpoint."
    start = "A campaign needs a plan and a target. This project has "
    return [(start, False), (what, True), (why, False)]
