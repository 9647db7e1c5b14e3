"""The protocol ladder in words: what a rung changes, and the sentence above all of them."""

import re
from collections.abc import Sequence

from campaigns.domain.analysis.messages import Sentence, joined, sentence
from campaigns.domain.analysis.ratio import BOUNDED, Word
from campaigns.domain.plan.rungs import Section, Spoken
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.presentation.intervals import bounds_words, difference_words
from campaigns.domain.presentation.ladder import Ladder, LadderRung, RungStep, told_steps
from campaigns.domain.units import and_joined, change_size, percent

_HTTP = {version: f"HTTP/{version}" for version in HttpVersion}
_HYBRID, _CLASSICAL = "hybrid key exchange", "classical key exchange"
_RESUMED, _FULL = "resumed session", "full handshake"
_THINGS = (_HYBRID, _CLASSICAL, _RESUMED, _FULL)
_PLACES = {Section.NEW: "On a new connection", Section.KEPT: "On kept connections"}


def rung_title(spoken: Spoken, before: Spoken | None) -> str:
    """What the rung changes against the one before; all of it for the first, and for the first over
    TLS: "HTTPS/1.1, TLS 1.2", "Hybrid key exchange and resumed session"."""
    if before is None or before.tls == "" != spoken.tls:
        if not spoken.tls:
            return _HTTP[spoken.http]
        https = (
            _HTTP[spoken.http].replace("HTTP", "HTTPS") if spoken.http < "2" else "HTTPS, HTTP/2"
        )
        traits = [spoken.profile or f"TLS {spoken.tls}", _HYBRID if spoken.is_hybrid else ""]
        return ", ".join(filter(None, [https, *traits, _RESUMED if spoken.is_resumed else ""]))
    traits_of_both = [
        (spoken.tls, before.tls, f"TLS {spoken.tls}"),
        (spoken.is_hybrid, before.is_hybrid, _HYBRID if spoken.is_hybrid else _CLASSICAL),
        (spoken.profile, before.profile, spoken.profile or "standard TLS"),
        (spoken.is_resumed, before.is_resumed, _RESUMED if spoken.is_resumed else _FULL),
        (spoken.http, before.http, _HTTP[spoken.http]),
    ]
    titles = [title for now, then, title in traits_of_both if now != then]
    title = and_joined(titles or [_HTTP[spoken.http]])
    return title[:1].upper() + title[1:] if title.startswith(_THINGS) else title


def ladder_sentence(ladder: Ladder) -> Sentence:
    """What TLS costs on new connections, what each further rung changes, what all of it costs on
    kept ones, and what many streams do; [] where nothing can be compared yet."""
    sentences: list[Sentence] = []
    for section in (Section.NEW, Section.PROFILES, Section.KEPT, Section.MANY):
        rungs = ladder.of(section)
        if section == Section.KEPT and ladder.of(Section.NEW):
            rungs = [each for each in rungs if each.plain and each.plain.ratio is not None]
            sentences += [_cost(_PLACES[section], "all of it", last.plain) for last in rungs[-1:]]
        elif section in _PLACES:
            # The cost is told of TLS 1.3 in its plainest form, else of the first rung; of none that
            # the server did not take.
            over_tls = [
                each
                for each in rungs
                if each.plain and each.plain.ratio is not None and not each.not_taken
            ]
            first = next((each for each in over_tls if each.title == "TLS 1.3"), None)
            first = first or next(iter(over_tls), None)
            if first:
                sentences.append(_cost(_PLACES[section], first.title, first.plain))
            sentences += _changes([rung for rung in rungs if rung is not first], rungs)
        else:
            sentences += _changes(rungs, rungs)
    steps = [step for _, step in ladder.compared if step.ratio is not None]
    if steps and not any(step.has_interval for step in steps):
        sentences.append(sentence("too_few_runs"))
    return joined(sentences)


def _cost(place: str, rung: str, step: RungStep) -> Sentence:
    if not (step.has_interval and step.word):
        return sentence("rung_about", place=place, rung=rung, change=change_size(step.ratio))
    change, ends = difference_words(Word(step.word), step.ratio, *step.row.ends)
    verb, than = ("makes", "to HTTP ") if step.word == Word.SAME else ("is", "than HTTP ")
    than = "" if step.word == Word.OPEN else than
    return sentence(
        "rung_cost", place=place, rung=rung, verb=verb, difference=change, than=than, ends=ends
    )


def _changes(steps: Sequence[LadderRung], rungs: Sequence[LadderRung]) -> list[Sentence]:
    """What those of a section's rungs that come after the first over TLS do, alike ones
    together."""
    by_word: dict[str, list[tuple[LadderRung, RungStep]]] = {}
    for rung, step in told_steps(rungs):
        # Whether the server took the same of what both offered, this rung and the one
        # before.
        if (
            rung in steps
            and step.ratio is not None
            and (rung.not_taken == _before(rung, rungs).not_taken)
        ):
            by_word.setdefault(step.word, []).append((rung, step))
    sentences: list[Sentence] = []
    for word, verb in ((Word.SLOWER, "add"), (Word.FASTER, "save")):
        for rung, step in by_word.get(word, []):
            # Off the ladder, the one before is not what the reader takes for granted.
            is_on_ladder = rung.section in _PLACES
            against = "" if is_on_ladder else f" against {_name(_before(rung, rungs))}"
            sentences.append(
                sentence(
                    "rung_adds",
                    rung=_at_start(_name(rung)),
                    adds=verb if _is_several(rung) else f"{verb}s",
                    share=percent(abs(step.ratio - 1), decimals=1),
                    against=against,
                    ends=difference_words(word, step.ratio, *step.row.ends)[1],
                )
            )
    if alike := by_word.get(Word.SAME):
        make = "make" if len(alike) > 1 or _is_several(alike[0][0]) else "makes"
        names = _at_start(and_joined([_name(rung) for rung, _ in alike]))
        sentences.append(sentence("rung_same", rung=names, makes=make))
    for word in BOUNDED:
        for rung, step in by_word.get(word, []):
            bounds = bounds_words(step.row.interval.low, step.row.interval.high)
            names, settle = _at_start(_name(rung)), f" {step.why}" if step.why else ""
            sentences.append(
                sentence("rung_bounded", rung=names, word=word, bounds=bounds, settle=settle)
            )
    # The rungs whose own layer the server did not take.
    return sentences + [
        sentence("rung_not_taken", rung=_at_start(_name(rung)), why=f"{why[0].lower()}{why[1:]}")
        for rung in rungs[1:]
        for why in rung.not_taken
        if why not in _before(rung, rungs).not_taken
    ]


def _before(rung: LadderRung, rungs: Sequence[LadderRung]) -> LadderRung:
    return rungs[rungs.index(rung) - 1]


def _name(rung: LadderRung) -> str:
    if rung.section == Section.MANY:
        # 1 connection with 32 streams, 32 connections with one stream each; without streams in
        # HTTP/1.1.
        on = "1 connection" if rung.connections == 1 else f"{rung.connections} connections"
        if rung.streams > 1:
            on = f"{on} with {rung.streams} streams"
        elif rung.title == _HTTP[HttpVersion.HTTP_2]:
            on = f"{on} with one stream each"
        return f"{rung.title} on {on}"
    if rung.title.startswith("HTTPS"):
        return rung.title
    things = "|".join(_THINGS)
    return re.sub(things, lambda thing: f"a {thing[0].lower()}", rung.title, flags=re.IGNORECASE)


def _is_several(rung: LadderRung) -> bool:
    """Whether it changes several things at once, because the rungs between were left out."""
    return rung.section in _PLACES and " and " in rung.title


def _at_start(text: str) -> str:
    """The same where a sentence begins; a name that a project gave stays as it is written."""
    return f"A {text[2:]}" if text.startswith("a ") else text
