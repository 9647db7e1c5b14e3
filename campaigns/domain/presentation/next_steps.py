"""What would settle a finished campaign: a repeated block, or more blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.analysis.advice import difference_words
from campaigns.domain.analysis.comparison import Word
from campaigns.domain.analysis.repeats import MIN_REPEATS
from campaigns.domain.presentation.results import FlaggedRun, OverheadAnswer, Sentence
from campaigns.domain.units import counted, figure, percent

_FULL = "The campaign already has as many blocks as a campaign can have."
_NEVER = 1000  # blocks that no campaign can have


@dataclass(frozen=True, slots=True)
class NextStep:
    """`text` says why, `label` what to do; `blocks` are to be added (0: no more fit).

    `run` is the one that the text begins with, if it is about one.
    """

    text: str
    label: str = ""
    blocks: int = 0
    run: FlaggedRun | None = None


def next_steps(overheads: Sequence[OverheadAnswer], room: int) -> list[NextStep]:
    """The steps for a campaign to which `room` more blocks can be added; [] if all is settled.

    An odd run comes first: more blocks would only average over it.
    """
    decided = {each.decided_by.run_id: each.decided_by for each in overheads if each.decided_by}
    if decided:
        steps = []
        for run in decided.values():
            text = (
                f"decides this: in block {run.block} it took {figure(run.times, 2)} times as long "
                f"as the other {run.name} runs."
            )
            full = NextStep(f"{text} {_FULL}", run=run)
            again = NextStep(text, f"Repeat block {run.block}", 1, run)
            steps.append(full if room < 1 else again)
        return steps
    wanting = [each for each in overheads if each.word == Word.INCONCLUSIVE and _needs(each)]
    fitting = [each for each in wanting if _needs(each) <= room]
    return [_add(max(fitting or wanting, key=_needs), room)] if wanting else []


def _needs(overhead: OverheadAnswer) -> int:
    """How many blocks it takes; 0 if more blocks would not help, as where none of a side's runs can
    be used: more of the same would end alike."""
    if overhead.advice:
        return max(each.more or _NEVER for each in overhead.advice)
    return max(0, MIN_REPEATS - overhead.n_usable) if overhead.n_usable else 0


def _add(overhead: OverheadAnswer, room: int) -> NextStep:
    needed = _needs(overhead)
    if needed > room:
        what_for = "to settle this" if overhead.advice else "for a first verdict"
        instead = " Longer runs vary less." if overhead.advice else ""
        many = "hundreds of blocks" if needed >= _NEVER else counted(needed, "more blocks")
        return NextStep(
            f"It would take {many} {what_for}, and a campaign has room for {room}.{instead}"
        )
    if not overhead.advice:
        text = f"A verdict needs {MIN_REPEATS} usable repeats of each."
        return NextStep(text, f"Add {counted(needed, 'blocks')}", needed)
    cases = [
        f"differ by {difference_words(each)}" if each.difference else "are equally fast"
        for each in overhead.advice
    ]
    chance = min(each.chance for each in overhead.advice if each.more == needed)
    settle = "settles" if needed == 1 else "settle"
    text = (
        f"{counted(needed, 'more blocks')} {settle} this with {percent(chance, decimals=0)} "
        f"probability if the two {' or '.join(cases)}."
    )
    return NextStep(text, f"Add {counted(needed, 'blocks')}", needed)


_HINTS = {
    "https": "HTTP and HTTPS on new connections, resumed sessions and keep-alive, interleaved in "
    "counterbalanced blocks. You can change everything below.",
    "works": "One run on one endpoint: figures, but no comparison.",
}


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


def question_hint(question: str) -> str:
    """What the form filled in for this question; "" is a campaign of one's own."""
    return _HINTS.get(question, "Tick what you want to compare.")
