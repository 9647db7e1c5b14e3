"""The tab Setup: what all arms have is said once, what they differ in with whose it is."""

from types import SimpleNamespace

import pytest

from campaigns.domain.analysis.likeness import ArmRun, Likeness
from campaigns.domain.metrics.injector_end import InjectorEnd, TlsHandshakes
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import TlsOptions
from campaigns.domain.presentation.setup_facts import plan_facts, setup_facts, told_once
from campaigns.domain.presentation.target_matrix import RowLikeness, like_lines
from tests.values import plan_spec


def arm(scheme="https", mode="new", *, shows_machine=True, verify_tls=True, **counters) -> ArmRun:
    run = SimpleNamespace(
        endpoint=Origin(scheme, "a", 443, verify_tls=verify_tls, tls=TlsOptions(sni="b.internal")),
        connection_mode=mode,
        environment=[["CPU", "8 cores"]],
    )
    resumes = bool(counters.get("tls_resumed"))
    tls = (TlsHandshakes("TLSv1.3", "TLS_AES_128_GCM_SHA256", 9, resumed=resumes, group="X25519"),)
    end = InjectorEnd(tls=tls if scheme == "https" else (), peers={"10.0.0.5:443": 9})
    total = Total(counters=counters, timings={"tls": Timing.of([3000] * 9)})
    measurement = SimpleNamespace(ends=[end], total=total)
    return ArmRun(run, ("gen-1",), measurement, shows_machine)


def test_tls_is_told_once_and_of_tls_arms_only():
    new, resumption = arm(tls_full=9), arm(mode="resumed", tls_resumed=9)
    facts = dict(setup_facts({"HTTP": [arm("http")], "new": [new], "resumed": [resumption]}))
    assert facts["TLS"][:4] == [
        ("Protocol", "1.3"),
        ("Cipher", "TLS_AES_128_GCM_SHA256"),
        ("Key exchange", "X25519"),
        ("Options", "announces b.internal"),
    ]
    assert ("Verified", "yes") in facts["Certificate"]
    assert "TLS" not in dict(setup_facts({"HTTP": [arm("http")]}))


def test_arms_that_differ_are_named():
    arms = {"old": [arm(verify_tls=False)], "new": [arm()]}
    assert ("Verified", "no (old); yes (new)") in dict(setup_facts(arms))["Certificate"]
    assert told_once({"a": "x", "b": "", "c": "x"}) == "x"


@pytest.mark.parametrize(
    ("counters", "words"),
    [
        ({"ok": 9, "connections_opened": 9, "tls_full": 9}, "9 full"),
        ({"ok": 9, "connections_opened": 9, "tls_full": 1, "tls_resumed": 8}, "8 resumed, 1 full"),
        ({"ok": 3600, "connections_opened": 40, "tls_full": 40}, "40 for 3,600 requests"),
    ],
)
def test_connections_say_how_many_were_opened_and_how(counters, words):
    facts = dict(dict(setup_facts({"arm": [arm(**counters)]}))["Connections"])
    assert facts["HTTPS new"] == words


def test_only_whole_kinds_of_handshakes_have_a_median():
    both = arm(ok=9, connections_opened=9, tls_full=4, tls_resumed=5)
    full = arm(ok=9, connections_opened=9, tls_full=9)
    assert "Full handshake" not in dict(dict(setup_facts({"a": [both]}))["Connections"])
    rows = dict(dict(setup_facts({"a": [full]}))["Connections"])
    assert rows["Full handshake"].replace("\u202f", " ") == "median 3.00 ms"


def test_machines_are_left_out_for_who_may_not_see_them():
    facts = setup_facts({"arm": [arm(shows_machine=False, ok=1, connections_opened=1)]})
    assert not any(word in str(facts) for word in ("gen-1", "10.0.0.5", "8 cores", "b.internal"))
    machine = dict(setup_facts({"arm": [arm(ok=1, connections_opened=1)]}))["Machine"]
    assert dict(machine) == {"Address": "10.0.0.5:443", "Load generator": "gen-1", "CPU": "8 cores"}


def test_a_visitor_sees_no_parameters_of_paths():
    spec = plan_spec()
    spec["steps"][0]["path"] = "/item?key=secret"
    plan = Plan.from_json(spec)
    assert dict(plan_facts(plan))["Request"] == "POST /item?key=secret"
    assert dict(plan_facts(plan, shows_queries=False))["Request"] == "POST /item"


def plan(name: str, *values: str, is_alike: bool) -> RowLikeness:
    return RowLikeness(name, ("apache", "nginx"), (Likeness("reply", values, is_alike),))


def line_of(*rows: RowLikeness) -> tuple[str, bool]:
    (line,) = like_lines(rows)
    return line.text, line.is_alike


def test_what_differs_from_plan_to_plan_and_not_between_targets_is_alike():
    rows = [plan(name, size, size, is_alike=True) for name, size in zip("abc", "123", strict=True)]
    assert line_of(*rows[:2]) == ("1, 2", True)
    assert line_of(*rows) == ("alike at each plan, such as 1", True)


def test_who_has_what_is_said_where_they_differ():
    rows = [plan("L1", "43 B", "43 B", is_alike=True), plan("L2", "43 B", "57 B", is_alike=False)]
    assert line_of(*rows) == ("L2: apache 43 B, nginx 57 B", False)


def test_of_many_targets_those_that_differ_from_most_are_named():
    names, sizes = tuple("abcdefg"), ("9 B", *["1 B"] * 3, "8 B", "7 B", "1 B")
    row = RowLikeness("L1", names, (Likeness("reply", sizes, is_alike=False),))
    assert line_of(row) == ("L1: 4 have 1 B, a 9 B, e 8 B, and 1 more differ", False)
