"""What comes next: the questions that a new campaign answers, and more blocks of a finished one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from campaigns.domain.presentation.results import OverheadAnswer, Sentence
from campaigns.domain.units import counted


@dataclass(frozen=True, slots=True)
class NextStep:
    """`text` says why, `label` what to do; `blocks` are to be added (0: no more fit)."""

    text: str
    label: str = ""
    blocks: int = 0


def next_step(overheads: Sequence[OverheadAnswer], room: int) -> NextStep | None:
    """For a campaign to which `room` more blocks can be added; None if all is settled, or where
    more of the same would end alike."""
    wanted = [each.more for each in overheads if each.more and each.n_usable]
    if not wanted:
        return None
    fitting = [more for more in wanted if more <= room]
    more = max(fitting or wanted)
    blocks = counted(more, "more blocks")
    if not fitting:
        return NextStep("Too noisy to settle with more runs. Try longer runs.")
    settle = "settles" if more == 1 else "settle"
    text = f"About {blocks} {settle} this."
    return NextStep(text, f"Add {counted(more, 'blocks')}", more)


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
