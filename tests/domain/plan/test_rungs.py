"""What an arm speaks, where it stands on the ladder, and what its rung sends."""

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.rungs import (
    AT_ONCE_S,
    RUNGS,
    Section,
    estimate_ladder,
    is_ladder,
    section_of,
    spec_of_rung,
    spoken_by,
)
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import TlsOptions
from tests.values import plan_spec


def speech(scheme="https", mode="new", load=None, http="1.1", streams=1, **tls):
    plan = Plan.from_json(plan_spec(**(load or {})) | {"http_version": http, "streams": streams})
    return spoken_by(Origin(scheme, "a", 1, tls=TlsOptions(**tls).resolved()), mode, plan)


def test_a_profile_is_read_as_what_it_offers_first():
    for tls, newest, is_hybrid, profile in [
        ({}, "1.3", True, ""),
        ({"profile": "tls12"}, "1.2", False, ""),
        ({"profile": "classical"}, "1.3", False, ""),
        ({"groups": "P-256"}, "1.3", False, ""),
        ({"groups": "X25519:X25519MLKEM768"}, "1.3", False, ""),
        ({"profile": "browser"}, "1.3", True, "as a browser"),
        ({"profile": "ecdsa"}, "1.3", True, "ECDSA"),
    ]:
        speech_ = speech(**tls)
        assert (speech_.tls, speech_.is_hybrid, speech_.profile) == (newest, is_hybrid, profile)


def test_the_order_of_rungs_is_that_of_the_ladder():
    ladder = [
        speech("http"),
        speech(profile="tls12"),
        speech(profile="classical"),
        speech(),
        speech(mode="resumed"),
        speech(mode="resumed", http="2"),
    ]
    assert sorted(set(ladder)) == ladder


def test_several_streams_bring_as_many_connections_beside_them():
    flat_out = {"model": "closed", "duration_s": 10}
    streams = speech(http="2", streams=32, load={**flat_out, "connections": 1})
    connections = speech(load={**flat_out, "connections": 32})
    alone = speech(mode="keep-alive")
    assert section_of(streams, "keep-alive", has_many=True) == Section.MANY
    assert section_of(connections, "keep-alive", has_many=True) == Section.MANY
    assert section_of(connections, "keep-alive", has_many=False) == Section.KEPT
    assert section_of(alone, "keep-alive", has_many=True) == Section.KEPT


def test_only_what_tls_and_http_tell_apart_is_a_ladder():
    for rungs, is_one in [
        ([speech("http"), speech(), speech(mode="resumed")], False),
        ([speech("http"), speech(), speech(profile="tls12")], True),
        ([speech(), speech(http="2")], True),
        ([speech("http"), speech(), speech(), speech(profile="tls12")], False),
    ]:
        assert is_ladder([(Section.NEW, each) for each in rungs]) is is_one


def test_each_offered_rung_stands_where_it_says_and_speaks_as_no_other():
    places = set()
    for rung in RUNGS.values():
        load = {"model": "closed", "connections": rung.connections, "duration_s": 1}
        words = speech(
            rung.scheme,
            str(rung.mode),
            load if rung.connections else None,
            str(rung.http),
            rung.streams,
            profile=rung.profile,
        )
        assert section_of(words, rung.mode, has_many=True) == rung.section
        assert (words.http == HttpVersion.HTTP_2) == ("HTTP/2" in rung.title)
        places.add((rung.section, words))
    assert len(places) == len(RUNGS)


PLAN = Plan.from_json(plan_spec(model="over", requests=100, over_s=8))


def test_a_rung_of_http_1_1_sends_the_plan_as_it_is():
    for key in ["new-http", "new-resumed", "kept-tls12", "new-rsa"]:
        assert spec_of_rung(PLAN, RUNGS[key])[0] == PLAN.to_json()


def test_many_at_once_is_a_load_of_its_own():
    spec, name = spec_of_rung(PLAN, RUNGS["many-streams"])
    load = Plan.from_json(spec).load
    assert (load.connections, load.duration_s, spec["streams"]) == (1, AT_ONCE_S, 32)
    assert name == "HTTP/2, 1 × 32 at once"


def test_an_estimate_has_every_rung_that_can_send_the_plan():
    rungs = [RUNGS[key] for key in ("new-http", "new-http2", "many-http1")]
    cost = estimate_ladder(PLAN, rungs, repeats=3, pause_s=0)
    assert (cost.n_tests, cost.n_runs) == (3, 9)
    assert cost.duration_s == 3 * (8 + 8 + AT_ONCE_S) + 9 * 2


def test_a_rung_that_cannot_send_it_takes_nothing():
    flat_out = plan_spec(model="closed", connections=1, requests=10)
    plan = Plan.from_json(
        flat_out | {"connection_mode": "keep-alive", "session": {"pipeline_depth": 4},
                  "steps": [{"method": "GET", "path": "/"}]}
    )  # fmt: skip
    rungs = [RUNGS["kept-http"], RUNGS["kept-http2"]]
    assert estimate_ladder(plan, rungs, repeats=1, pause_s=0).n_tests == 1
