"""Every state has a glyph that can be told from others without colour, and a word."""

import pytest

from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.shown.badges import (
    GLYPHS,
    badge_of,
    campaign_badge,
    glyph_of,
    run_badge,
)


@pytest.mark.parametrize("state", [*RunState, *Outcome, "valid", "suspicious", "invalid", "passed"])
def test_no_state_an_outcome_or_a_validity_is_without_a_glyph(state):
    assert glyph_of(state) != "dash"


@pytest.mark.parametrize("level", ["success", "info", "warning", "error"])
def test_every_level_of_a_message_has_a_glyph(level):
    assert glyph_of(level) != "dash"


def test_no_two_glyphs_have_the_same_shape():
    shapes = [
        tuple((stroke.element, stroke.attributes, stroke.ink == "dots") for stroke in strokes)
        for strokes in GLYPHS.values()
    ]
    assert len(set(shapes)) == len(shapes)


def test_nothing_is_a_dash_with_a_word():
    badge = badge_of("")
    assert (badge.glyph, badge.word) == ("dash", "No result")


def test_a_badge_may_have_another_word_than_its_state():
    badge = badge_of("valid", "answers")
    assert (badge.glyph, badge.word) == ("good", "Answers")


@pytest.mark.parametrize(
    ("state", "outcome", "validity", "glyph", "word"),
    [
        ("queued", "", "", "queued", "Queued"),
        ("done", "complete", "suspicious", "warn", "Complete, suspicious"),
        ("done", "complete", "", "done", "Complete"),
        ("done", "partial", "valid", "partial", "Partial, valid"),
        ("done", "stopped", "invalid", "stopped", "Stopped, invalid"),
        ("done", "failed", "", "bad", "Failed"),
    ],
)
def test_a_run_shows_its_state_then_its_validity_or_how_it_ended(
    state, outcome, validity, glyph, word
):
    badge = run_badge(state, outcome, validity)
    assert (badge.glyph, badge.word) == (glyph, word)


@pytest.mark.parametrize(
    ("state", "validity", "is_stopped", "glyph", "word"),
    [
        ("draft", "", False, "draft", "Draft"),
        ("running", "suspicious", False, "running", "Running"),
        ("done", "valid", False, "good", "Complete, valid"),
        ("done", "", True, "stopped", "Stopped"),
    ],
)
def test_a_campaign_shows_its_state_then_its_worst_validity(
    state, validity, is_stopped, glyph, word
):
    badge = campaign_badge(state, validity, is_stopped=is_stopped)
    assert (badge.glyph, badge.word) == (glyph, word)
