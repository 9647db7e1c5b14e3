"""What a launcher takes from an injector, and what it does not."""

import pytest

from campaigns.domain.measured.snapshot import Timing
from tests.values import make_second
from workers.lines import SecondChecker, end_fault


def line(second=0, **changed):
    return {"type": "second", **make_second(second, [1000, 2000]).to_json()} | changed


def timings(**response):
    return {"response": Timing.of([1000, 2000]).to_json() | response}


def test_what_we_write_is_taken():
    judge = SecondChecker()
    assert [judge.fault(line(second)) for second in (-1, 0, 1)] == [None] * 3


def test_what_the_document_does_not_name_is_taken_too():
    assert SecondChecker().fault(line(version="2.0")) is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"second": None}, "second is not a whole number"),
        ({"step": 1.5}, "step is not a whole number"),
        ({"in_flight": "0"}, "in_flight is not a whole number"),
        ({"counters": None}, "counters is not an object of counts"),
        ({"counters": {"ok": -1}}, "counters is not an object of counts"),
        ({"statuses": [200]}, "statuses is not an object of counts"),
        ({"errors": {"boom": 1}}, "errors: there is no kind 'boom'"),
        ({"timings": []}, "timings is not an object"),
        ({"vitals": 5}, "vitals is neither an object nor null"),
        ({"timings": {"think": {}}}, "timings.think: no such timing"),
        ({"timings": timings(sum_us=1.5)}, "must be whole numbers"),
        ({"timings": timings(histogram="AAAA")}, "timings.response: histogram: "),
        ({"timings": timings(histogram=None)}, "timings.response: histogram: "),
        ({"timings": timings(n=3)}, "n is 3, and the histogram has 2"),
    ],
)
def test_what_could_not_be_read_later_is_refused_with_its_place(changed, words):
    assert words in SecondChecker().fault(line(**changed))


def test_a_second_comes_once():
    judge = SecondChecker()
    judge.fault(line(4))
    assert judge.fault(line(4)) == "second 4 of step 0 came twice"
    assert judge.fault(line(4, step=1)) is None


def test_an_end_may_lack_anything_and_say_more():
    assert end_fault({"type": "end"}) is None
    assert end_fault({"outcome": "complete", "servers": None, "quic": "yes"}) is None


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"outcome": 0}, "outcome is not a text"),
        ({"cpu_us": 1.5}, "cpu_us is not a whole number"),
        ({"totals": {"ok": "3"}}, "totals is not an object of counts"),
        ({"peers": ["10.0.0.5:443"]}, "peers is not an object of counts"),
        ({"warnings": "few ports"}, "warnings is not a list of texts"),
        ({"tls": [{"version": "TLSv1.3", "count": 1}]}, "tls is not a list of handshakes"),
        (
            {"tls": [{"version": "TLSv1.3", "cipher": "AES", "count": 1, "chain_bytes": "all"}]},
            "tls is not a list of handshakes",
        ),
        ({"tls_library": 4}, "tls_library is not a text"),
    ],
)
def test_an_end_that_could_not_be_read_later_is_refused(said, words):
    assert words in end_fault({"type": "end", **said})
