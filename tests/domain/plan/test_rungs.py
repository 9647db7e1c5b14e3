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


def spoken(scheme="https", mode="new", load=None, http="1.1", streams=1, **tls):
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
        rung = spoken(**tls)
        assert (rung.tls, rung.is_hybrid, rung.profile) == (newest, is_hybrid, profile)


def test_the_order_of_rungs_is_that_of_the_ladder():
    ladder = [
        spoken("http"),
        spoken(profile="tls12"),
        spoken(profile="classical"),
        spoken(),
        spoken(mode="resumed"),
        spoken(mode="resumed", http="2"),
    ]
    assert sorted(set(ladder)) == ladder


def test_several_streams_bring_as_many_connections_beside_them():
    closed = {"model": "closed", "duration_s": 10}
    streams = spoken(http="2", streams=32, load={**closed, "connections": 1})
    connections = spoken(load={**closed, "connections": 32})
    alone = spoken(mode="keep-alive")
    assert section_of(streams, "keep-alive", has_many=True) == Section.MANY
    assert section_of(connections, "keep-alive", has_many=True) == Section.MANY
    assert section_of(connections, "keep-alive", has_many=False) == Section.KEPT
    assert section_of(alone, "keep-alive", has_many=True) == Section.KEPT


def test_only_what_tls_and_http_tell_apart_is_a_ladder():
    for rungs, is_one in [
        ([spoken("http"), spoken(), spoken(mode="resumed")], False),
        ([spoken("http"), spoken(), spoken(profile="tls12")], True),
        ([spoken(), spoken(http="2")], True),
        ([spoken("http"), spoken(), spoken(), spoken(profile="tls12")], False),
    ]:
        assert is_ladder([(Section.NEW, each) for each in rungs]) is is_one


def test_each_offered_rung_stands_where_it_says_and_speaks_as_no_other():
    seen = set()
    for rung in RUNGS.values():
        load = {"model": "closed", "connections": rung.connections, "duration_s": 1}
        found = spoken(
            rung.scheme,
            str(rung.mode),
            load if rung.connections else None,
            str(rung.http),
            rung.streams,
            profile=rung.profile,
        )
        assert section_of(found, rung.mode, has_many=True) == rung.section
        assert (found.http == HttpVersion.HTTP_2) == ("HTTP/2" in rung.title)
        seen.add((rung.section, found))
    assert len(seen) == len(RUNGS)


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
    found = estimate_ladder(PLAN, rungs, repeats=3, pause_s=0)
    assert (found.n_tests, found.n_runs) == (3, 9)
    assert found.duration_s == 3 * (8 + 8 + AT_ONCE_S) + 9 * 2


def test_a_rung_that_cannot_send_it_takes_nothing():
    closed = plan_spec(model="closed", connections=1, requests=10)
    plan = Plan.from_json(
        closed | {"connection_mode": "keep-alive", "session": {"pipeline_depth": 4},
                  "steps": [{"method": "GET", "path": "/"}]}
    )  # fmt: skip
    rungs = [RUNGS["kept-http"], RUNGS["kept-http2"]]
    assert estimate_ladder(plan, rungs, repeats=1, pause_s=0).n_tests == 1
