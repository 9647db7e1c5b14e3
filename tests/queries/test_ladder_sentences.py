"""The sentence above a protocol ladder: what each layer costs, and what cannot be told."""

import pytest

from campaigns.domain.plan.rungs import Section
from campaigns.domain.shown.sentences import plain_text
from campaigns.queries.answers import campaign_answer
from tests.queries.climbing import (
    CLASSICAL,
    HUNG_US,
    HYBRID,
    MEANS_US,
    NEW,
    agree,
    climb,
    ladder,
    rungs_of,
    unlike_each_other,
    usual_ladder,
    with_one_hung,
)

__all__ = ["climb", "ladder", "usual_ladder"]
pytestmark = pytest.mark.django_db


def test_one_sentence_says_what_costs_and_what_does_not(ladder):
    campaign, _ = ladder
    said = plain_text(campaign_answer(campaign).sentence)
    assert said.startswith("On a new connection TLS 1.3 costs +54.0\u202f% over HTTP (29.1 instead")
    assert "A resumed session saves 14.7\u202f%." in said
    assert "A hybrid key exchange and HTTP/2 make no practical difference." in said


def test_the_times_that_it_tells_are_of_the_runs_whose_change_it_tells(climb):
    keys, means_us = ("new-http", "new-tls12", "new-tls13"), (18_900, 33_400, HUNG_US)
    campaign, _ = climb(keys, means_us, runs_of=with_one_hung)
    said = plain_text(campaign_answer(campaign).sentence)
    assert "costs +54.0\u202f% over HTTP (29.1 instead of 18.9\u202fms)" in said


def test_its_times_have_the_decimals_of_the_table(climb):
    campaign, _ = climb(("new-http", "new-tls12", "new-tls13"), (508, 2_410, 2_330))
    said = plain_text(campaign_answer(campaign).sentence)
    assert campaign_answer(campaign).ladder.decimals == 2
    assert "(2.33 instead of 0.51\u202fms)" in said


def test_what_the_runs_do_not_tell_is_called_not_clear(climb):
    keys, means_us = ("new-http", "new-tls13", "new-hybrid"), (10_000, 11_000, 12_000)
    campaign, _ = climb(keys, means_us, runs_of=unlike_each_other)
    said = plain_text(campaign_answer(campaign).sentence)
    assert "the effect of HTTPS/1.1, TLS 1.3 over HTTP is not clear (" in said
    assert "The effect of a hybrid key exchange is not clear." in said


def test_kept_connections_have_a_section_and_a_clause_of_their_own(climb):
    kept = ("kept-http", "kept-tls12", "kept-tls13", "kept-hybrid", "kept-http2")
    campaign, _ = climb((*NEW, *kept), (*MEANS_US, 14_500, 14_900, 14_900, 14_900, 14_950))
    ladder = campaign_answer(campaign).ladder
    assert [(str(key), len(rungs)) for key, rungs in ladder.sections] == [("new", 6), ("kept", 5)]
    assert ladder.of(Section.KEPT)[1].plain.row.ratio == pytest.approx(14.9 / 14.5, rel=1e-3)
    said = plain_text(campaign_answer(campaign).sentence)
    assert "On kept connections all of it makes no practical difference to HTTP (+3.1" in said


def test_what_the_server_chose_otherwise_is_said(ladder):
    campaign, by_rung = ladder
    agree(by_rung[2], group=CLASSICAL)
    agree(by_rung[3], group=CLASSICAL)
    agree(by_rung[4], group=HYBRID)
    _, _, classical, hybrid, resumed, _ = rungs_of(campaign)
    assert classical.chose_otherwise == ""
    assert hybrid.chose_otherwise == "The server chose X25519."
    assert resumed.chose_otherwise == "The server resumed no session."


def test_the_sentence_tells_no_effect_of_what_the_server_did_not_take(ladder):
    campaign, by_rung = ladder
    for runs, is_resumed in zip(by_rung[2:], (False, False, True, True), strict=True):
        agree(runs, group=CLASSICAL, resumed=is_resumed)
    said = plain_text(campaign_answer(campaign).sentence)
    assert "A hybrid key exchange was not measured: the server chose X25519." in said
    assert said.count("ybrid key exchange") == 1
    # Neither of these has the hybrid group, nor what it is compared with.
    assert "A resumed session saves 14.7\u202f%." in said
    assert "HTTP/2 makes no practical difference." in said


def test_nor_of_two_layers_at_once_where_the_rung_before_lacks_one(ladder):
    campaign, by_rung = ladder
    for runs, is_resumed in zip(by_rung[3:], (False, False, True), strict=True):
        agree(runs, group=HYBRID, resumed=is_resumed)
    said = plain_text(campaign_answer(campaign).sentence)
    assert "A resumed session was not measured: the server resumed no session." in said
    assert "HTTP/2" not in said


def test_the_cost_over_http_is_told_of_what_the_server_took(ladder):
    campaign, by_rung = ladder
    agree(by_rung[1], version="TLSv1.2", group=CLASSICAL)
    agree(by_rung[2], version="TLSv1.2", group=CLASSICAL)
    said = plain_text(campaign_answer(campaign).sentence)
    assert said.startswith("On a new connection HTTPS/1.1, TLS 1.2 costs +76.7\u202f% over HTTP")
    assert "TLS 1.3 was not measured: the server chose TLSv1.2." in said
