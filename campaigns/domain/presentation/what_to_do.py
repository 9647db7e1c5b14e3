"""What to do about a target that failed, or a measurement without an answer: at most three
remedies, the likeliest first, each with one place where it is done. And what comes next: the
questions that a new campaign answers, and more blocks of a finished one."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from campaigns.domain.analysis.criteria import CRITERIA, ONLY_REDIRECTS
from campaigns.domain.analysis.failures import cause_words, causes_of, everything_failed
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.limit import blame
from campaigns.domain.analysis.messages import say
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.metrics.failures import DROPPED, FailureRow
from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS, CLIENT_KINDS, TIMEOUT_KINDS, Kind
from campaigns.domain.plan.turns import LEAST_S_OF_AN_ARM, LONGEST_LIMIT_S
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.remedies import blamed_words, remedy
from campaigns.domain.presentation.results import OverheadAnswer, Remedy, Sentence
from campaigns.domain.units import counted, duration

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
    judged: Iterable[Judgement], rows: Sequence[FailureRow], attempts: int, found: Answers
) -> tuple[Remedy, ...]:
    """() where the measurement can be used and the target neither failed nor was overloaded, nor
    did nothing but redirect.

    `rows` are the failures of so many attempts, `found` is what the badge tells. Where each attempt
    was refused or answered wrongly, that is what to mend, whatever the injector lacked.
    """
    judged = list(judged)
    if found.trust == Trust.NO_ANSWER:
        # No injector makes such failures, however busy it is.
        is_certain = all(row.status > 0 or row.kind in _WHATEVER_THE_INJECTOR for row in rows)
        if is_certain and everything_failed(rows, attempts):
            return (*_of_failures(rows), *_of_injector(judged))[:_MOST]
        again = _MEASURE_THE_REST if found.is_usable_in_part else _MEASURE_AGAIN
        return (*_of_injector(judged), again)
    if found.target_state == TargetState.FAILING:
        return tuple(_of_failures(rows))[:_MOST]
    if found.trust == Trust.BUSY:
        return (*_of_injector(judged), _MEASURE_TAIL)
    if judged and all(each.target.has(ONLY_REDIRECTS) for each in judged):
        return (_NOT_THE_PAGE,)
    if found.target_state == TargetState.OVERLOADED and not found.finds_limit:
        return (_FIND_LIMIT,)
    return ()


def _of_injector(judged: Iterable[Judgement]) -> list[Remedy]:
    """Of the runs whose figures were spoilt: what others were doubted for spoilt nothing."""
    blamed = [blame(each) for each in judged if each.is_in_doubt]
    by_text = {}
    for code, _ in Counter(each.code for each in blamed).most_common():
        cause = blamed_words([each for each in blamed if each.code == code])
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
    wanted = [each.more for each in overheads if each.more and each.n_usable]
    if not wanted:
        return None
    fitting = [more for more in wanted if more <= room]
    more = max(fitting or wanted)
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
