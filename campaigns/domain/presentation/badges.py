"""Badges and glyphs: the shape and word for each state, outcome or answer of a judgement.

The shapes differ, so that they are distinguishable without colour. `ink` names the CSS class that
colours a stroke: "good" is .g-good in components.css.
"""

from dataclasses import dataclass

from campaigns.domain.analysis.capacity import CapacityWord
from campaigns.domain.analysis.ratio import Word


@dataclass(frozen=True, slots=True)
class Stroke:
    """One SVG element of a glyph in its box of 12 × 12 px."""

    element: str
    ink: str
    attributes: tuple[tuple[str, str], ...]


def _path(d: str, ink: str) -> Stroke:
    return Stroke("path", ink, (("d", d),))


def _circle(radius: str, ink: str) -> Stroke:
    return Stroke("circle", ink, (("cx", "6"), ("cy", "6"), ("r", radius)))


def _square(at: str, size: str, ink: str) -> Stroke:
    sides = (("x", at), ("y", at), ("width", size), ("height", size), ("rx", "1"))
    return Stroke("rect", ink, sides)


_TICK = _path("M3.2 6.2 5.2 8.2 8.9 4.2", "cut")

GLYPHS: dict[str, tuple[Stroke, ...]] = {
    "good": (_circle("6", "good"), _TICK),
    "warn": (_path("M6 .8 11.6 11H.4Z", "warn"), _path("M6 4.4v3M6 9v.9", "cut")),
    "bad": (_square(".5", "11", "bad"), _path("M3.6 3.6 8.4 8.4M8.4 3.6 3.6 8.4", "cut")),
    "over": (_square(".5", "11", "bad"), _path("M6 9.4V3.2M3.2 5.8 6 3 8.8 5.8", "cut")),
    "step": (_path("M.5 9.5H6v-7h5.5", "change"),),
    "info": (_circle("5.4", "hollow"), _path("M6 5.4v3.4M6 3.1v1", "line")),
    "draft": (_circle("5", "hollow"),),
    "queued": (_circle("5", "dots"),),
    "armed": (_circle("5", "ring"), _path("M6 6V1a5 5 0 0 1 5 5Z", "accent")),
    "running": (_circle("5", "ring"), _path("M6 6V1a5 5 0 1 1-4.7 6.6Z", "accent")),
    "finalizing": (_circle("5", "ring"), _circle("3", "accent")),
    "done": (_circle("5.5", "ink"), _TICK),
    "stopped": (_square("1", "10", "hollow"),),
    "partial": (_square("1", "10", "hollow"), _path("M1 6h10v5H1Z", "ink")),
    "dash": (_path("M2 6h8", "line"),),
}

# What has a glyph of another name: states, outcomes, answers and the levels of messages.
_GLYPH_OF = {
    "trusted": "good", "healthy": "good", "passed": "good", "kept": "good", "broken": "bad",
    "success": "good", "busy": "warn", "on_hold": "warn", "changing": "step",
    "overloaded": "over", "warning": "warn", "no_answer": "dash", "fine": "good", "coarse": "info",
    "limit_found": "done", "settled": "good", "at_limit": "stopped", "after_rounds": "stopped",
    "failing": "bad", "failed": "bad", "error": "bad", "preparing": "armed",
    "stopping": "finalizing", "killed": "stopped", "expired": "stopped", "complete": "done",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Badge:
    """A glyph and a word. `state` is what a script may look for, and names the glyph."""

    state: str
    word: str

    @property
    def glyph(self) -> str:
        return glyph_of(self.state)


@dataclass(frozen=True, slots=True)
class Pill:
    """A verdict that needs the eye; `look` is a class of its style."""

    word: str
    arrow: str
    look: str = ""


# By the words of times and of capacities.
PILLS = {
    Word.SLOWER: Pill("Slower", "→", "is-bad"),
    Word.FASTER: Pill("Faster", "←", "is-strong"),
    Word.NOT_SLOWER: Pill("Not slower", "≤"),
    Word.NOT_FASTER: Pill("Not faster", "≤"),
    Word.OPEN: Pill("Too close to call", "?", "is-open"),
    CapacityWord.LESS: Pill("Takes less", "←", "is-bad"),
    CapacityWord.MORE: Pill("Takes more", "→", "is-strong"),
    CapacityWord.NOT_LESS: Pill("Does not take less", "≥"),
    CapacityWord.NOT_MORE: Pill("Does not take more", "≤"),
}


def glyph_of(state: str) -> str:
    """The name of the state's glyph; "dash" if it has none."""
    name = _GLYPH_OF.get(state, state)
    return name if name in GLYPHS else "dash"


def badge_of(state: str, word: str = "") -> Badge:
    """The badge of a state; another word than the state's own may be given."""
    text = word or state or "no result"
    return Badge(state, text[:1].upper() + text[1:])


@dataclass(frozen=True, slots=True)
class Answers:
    """What was found about a run, or the worst of a campaign's tests; "" where nothing is known.

    `thresholds` is kept or broken. `finds_limit`: overload is what was looked for.
    `is_usable_in_part`: a test can be used although the worst one can not.
    """

    trust: str = ""
    target_state: str = ""
    thresholds: str = ""
    finds_limit: bool = False
    is_usable_in_part: bool = False


def run_badge(state: str, outcome: str, answers: Answers) -> Badge:
    """The state until a run is done; then how it ended, and what was not as it should be."""
    return _end_badge(outcome, answers) if state == "done" else badge_of(state)


def campaign_badge(
    state: str, answers: Answers, *, is_stopped: bool, end: tuple[str, str] | None = None
) -> Badge:
    """The state until a campaign is done; then as a run's, of the worst of its tests. `end`: how
    its turns ended, and that in words."""
    outcome = "stopped" if is_stopped else "complete"
    return _end_badge(outcome, answers, end) if state == "done" else badge_of(state)


def on_hold_badge() -> Badge:
    """A campaign whose first requests went wrong; somebody has to decide."""
    return badge_of("on_hold", "paused")


def _end_badge(outcome: str, answers: Answers, end: tuple[str, str] | None = None) -> Badge:
    words, is_whole = _words(answers), outcome == "complete"
    glyph, word = end if end and is_whole else (outcome, outcome)
    answer = next(iter(words), "") if is_whole else ""
    return badge_of(answer or glyph, ", ".join([word, *words.values()]))


def _words(answers: Answers) -> dict[str, str]:
    """The answers that a badge tells, with their words; the first decides the glyph. Of a campaign,
    the target's state is known of its trusted runs while others are in doubt."""
    state = answers.target_state
    limit_found = answers.finds_limit and state == "overloaded"
    no_answer = answers.trust == "no_answer"
    texts = {
        "broken": ("threshold broken", answers.thresholds == "broken"),
        "no_answer": ("no answer", no_answer and not answers.is_usable_in_part),
        "warning": ("no answer in part", no_answer and answers.is_usable_in_part),
        "failing": ("target failing", state == "failing"),
        "overloaded": ("target overloaded", state == "overloaded" and not limit_found),
        "busy": ("busy machine", answers.trust == "busy"),
        "changing": ("target changing", state == "changing"),
        "complete": ("limit found", limit_found),
    }
    words = {name: word for name, (word, is_so) in texts.items() if is_so}
    return words or ({"kept": "thresholds kept"} if answers.thresholds == "kept" else {})
