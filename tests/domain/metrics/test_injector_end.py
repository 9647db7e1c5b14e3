"""What an injector says at its end, and what it leaves unsaid."""

from campaigns.domain.metrics.injector_end import (
    NO_END,
    InjectorEnd,
    TlsHandshakes,
    most_of,
    peers_of,
    sending_s_of,
    servers_of,
    sum_of,
    totals_by_peer,
    warnings_of,
)
from campaigns.domain.metrics.snapshot import Timing, Total

WHOLE = InjectorEnd(
    outcome="complete",
    totals={"ok": 3},
    in_flight=0,
    duration_us=2_000_000,
    sending_us=1_900_000,
    cpu_us=700,
    connections_at_once=2,
    tls=(TlsHandshakes("TLSv1.3", "AES", 3, bits=256, group="X25519MLKEM768"),),
    tls_library="OpenSSL 4.0.3",
    peers={"10.0.0.5:443": 3},
    servers=("nginx",),
    warnings=("Few ports.",),
)


def test_a_line_is_read_back_as_it_was_written():
    assert InjectorEnd.from_json(WHOLE.to_json()) == WHOLE


def test_what_was_not_said_is_not_written_but_for_the_certificate():
    assert "servers" not in NO_END.to_json()
    assert NO_END.to_json()["certificate_der_b64"] is None


def test_what_an_injector_does_not_say_is_none_or_empty():
    end = InjectorEnd.from_json({"type": "end", "outcome": "stopped", "reason": "user"})
    assert (end.is_complete, end.reason, end.duration_us) == (False, "user", None)
    assert (end.tls, end.peers, end.warnings, end.servers) == ((), {}, (), None)


def test_fields_of_a_later_injector_are_left_out():
    later = {
        **WHOLE.to_json(),
        "quic": 1,
        "tls": [{"version": "4", "cipher": "X", "count": 1, "a": 0}],
    }
    assert InjectorEnd.from_json(later).tls == (TlsHandshakes("4", "X", 1),)


def test_a_sum_needs_every_injector_and_a_maximum_one():
    assert sum_of([WHOLE, WHOLE], "cpu_us") == 1400
    assert sum_of([WHOLE, NO_END], "cpu_us") is None
    assert sum_of([], "cpu_us") is None
    assert most_of([WHOLE, NO_END], "connections_at_once") == 2
    assert most_of([NO_END], "connections_at_once") is None


def test_what_several_said_is_told_once():
    assert warnings_of([WHOLE, NO_END, WHOLE]) == ["Few ports."]
    assert servers_of([WHOLE, NO_END, WHOLE]) == ["nginx"]
    assert servers_of([NO_END]) is None
    assert peers_of([WHOLE, WHOLE]) == {"10.0.0.5:443": 6}


def test_sending_lasts_as_long_as_that_of_the_last_injector():
    assert sending_s_of([WHOLE, InjectorEnd(sending_us=0)]) == 1.9
    assert sending_s_of([WHOLE, NO_END]) is None
    assert sending_s_of([]) == 0


def test_what_went_to_an_address_adds_up_over_injectors():
    total = Total({"ok": 2, "failed": 1}, {"reset": 1}, {}, {"response": Timing.of([10, 30])})
    end = InjectorEnd.from_json({"by_peer": {"10.0.0.6:80": total.to_json()}})
    (peer, whole), *others = totals_by_peer([end, NO_END, end]).items()
    assert (peer, whole.counters, others) == ("10.0.0.6:80", {"ok": 4, "failed": 2}, [])
    assert (whole.errors, whole.timing("response").sum_us) == ({"reset": 2}, 80)
    assert "by_peer" not in NO_END.to_json()
