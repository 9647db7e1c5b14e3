"""Every state has a glyph that can be told from others without colour, and a word."""

from campaigns.domain.lifecycle import Outcome, RunState, TargetState, Trust
from campaigns.domain.presentation.badges import (
    GLYPHS,
    Answers,
    campaign_badge,
    glyph_of,
    run_badge,
)

SAID = [*RunState, *Outcome, Trust.TRUSTED, Trust.BUSY, *TargetState, "passed"]


def test_no_state_an_outcome_or_an_answer_is_without_a_glyph():
    for state in SAID:
        assert glyph_of(state) != "dash"


def test_no_two_glyphs_have_the_same_shape():
    shapes = [
        tuple((stroke.element, stroke.attributes, stroke.ink == "dots") for stroke in strokes)
        for strokes in GLYPHS.values()
    ]
    assert len(set(shapes)) == len(shapes)


def test_a_run_shows_its_state_then_how_it_ended_and_only_what_was_not_well():
    for state, outcome, trust, target_state, glyph, word in [
        ("queued", "", "", "", "queued", "Queued"),
        ("done", "complete", "trusted", "failing", "bad", "Complete, target failing"),
        ("done", "complete", "busy", "", "warn", "Complete, busy machine"),
        ("done", "complete", "no_answer", "", "dash", "Complete, no answer"),
        ("done", "partial", "trusted", "healthy", "partial", "Partial"),
        ("done", "stopped", "no_answer", "", "stopped", "Stopped, no answer"),
    ]:
        badge = run_badge(state, outcome, Answers(trust, target_state))
        assert (badge.glyph, badge.word) == (glyph, word)


def test_a_campaign_shows_its_state_then_the_worst_of_its_tests():
    for state, trust, target_state, is_stopped, glyph, word in [
        ("running", "busy", "", False, "running", "Running"),
        ("done", "trusted", "overloaded", False, "over", "Complete, target overloaded"),
        ("done", "busy", "failing", False, "bad", "Complete, target failing, busy machine"),
        ("done", "no_answer", "failing", False, "dash", "Complete, no answer, target failing"),
        ("done", "", "", True, "stopped", "Stopped"),
    ]:
        badge = campaign_badge(state, Answers(trust, target_state), is_stopped=is_stopped)
        assert (badge.glyph, badge.word) == (glyph, word)


def test_a_campaign_with_tests_that_can_be_used_is_not_thrown_away():
    badge = campaign_badge("done", Answers("no_answer", is_usable_in_part=True), is_stopped=False)
    assert (badge.glyph, badge.word) == ("warn", "Complete, no answer in part")


def test_a_badge_says_whether_the_thresholds_were_kept():
    for found, glyph, word in [
        (Answers("trusted", "healthy", "kept"), "good", "Complete, thresholds kept"),
        (Answers("trusted", "healthy", "broken"), "bad", "Complete, threshold broken"),
        (Answers("busy", "", "kept"), "warn", "Complete, busy machine"),
    ]:
        badge = run_badge("done", "complete", found)
        assert (badge.glyph, badge.word) == (glyph, word)


def test_overload_is_the_finding_where_the_limit_was_looked_for():
    found = Answers("trusted", "overloaded", finds_limit=True)
    badge = run_badge("done", "complete", found)
    assert (badge.glyph, badge.word) == ("done", "Complete, limit found")
