"""What a launcher takes from an injector, and what its spool keeps of it."""

import os
import resource
import signal
from pathlib import Path

import pytest

from campaigns.domain.metrics.snapshot import Timing
from campaigns.engine.services.shards import Lease
from tests.values import make_second
from tests.workers.launching import read_only
from workers import spool as spools
from workers.injector_process import SecondChecker, end_fault
from workers.spool import Spool, SpoolFull


@pytest.fixture
def lease(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path / "spool"
    return Lease(7, 119, 0, 2, "worker", "host", order={"plan": "is not written"})


def records_of(path) -> list[dict]:
    spool = Spool.take_over(path)
    try:
        return list(spool.records())
    finally:
        spool.close(is_stored=False)


def make_spool(lease, n_seconds: int):
    spool = Spool.create(lease)
    for number in range(n_seconds):
        spool.append({"type": "second", "second": number})
    spool.sync()
    return spool


def test_it_begins_with_the_lease_and_holds_no_order(lease):
    spool = make_spool(lease, 0)
    spool.close(is_stored=False)
    assert records_of(spool.path) == [
        {
            "type": "lease",
            "shard_id": 7,
            "run_id": 119,
            "number": 0,
            "epoch": 2,
            "worker": "worker",
            "host": "host",
            "arms": [],
        }
    ]
    assert spool.path.name == "119-0-2.spool"


def test_a_tail_torn_at_any_byte_loses_its_record_and_no_other(lease):
    spool = make_spool(lease, 3)
    spool.close(is_stored=False)
    whole = spool.path.read_bytes()
    before_last = len(whole) - len(b'{"type":"second","second":2}') - spools.HEAD.size
    for length in range(before_last, len(whole)):
        spool.path.write_bytes(whole[:length])
        assert len(records_of(spool.path)) == 3


def test_a_record_that_the_disk_takes_in_part_leaves_no_tear(lease):
    spool = make_spool(lease, 1)
    whole = spool.path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole + 10, hard))  # a write beyond it is short
    try:
        with pytest.raises(OSError, match="File too large"):
            spool.append({"type": "second", "second": 1})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    spool.append({"type": "second", "second": 2})
    spool.close(is_stored=False)
    assert [record.get("second") for record in records_of(spool.path)] == [None, 0, 2]


def test_a_record_with_a_wrong_byte_ends_the_reading(lease):
    spool = make_spool(lease, 2)
    spool.close(is_stored=False)
    data = bytearray(spool.path.read_bytes())
    data[-2] ^= 1
    spool.path.write_bytes(data)
    assert [record.get("second") for record in records_of(spool.path)] == [None, 0]


def test_a_file_belongs_to_whoever_has_it_locked(lease):
    spool = make_spool(lease, 1)
    assert Spool.take_over(spool.path) is None
    spool.close(is_stored=False)
    assert len(records_of(spool.path)) == 2


def test_it_is_free_once_it_is_closed_although_a_process_forked_meanwhile_has_it_open(lease):
    spool = make_spool(lease, 1)
    copy = os.dup(spool._file.fileno())  # as the child of a fork has it
    try:
        spool.close(is_stored=False)
        assert len(records_of(spool.path)) == 2
    finally:
        os.close(copy)


def test_a_disk_that_takes_no_new_name_gives_the_file_back(lease, monkeypatch):
    spool = make_spool(lease, 1)
    monkeypatch.setattr(Path, "rename", read_only)
    spool.close(is_stored=True)
    assert len(records_of(spool.path)) == 2


def test_it_is_for_no_other_account_of_the_host(lease):
    spool = Spool.create(lease)
    assert spool.path.stat().st_mode & 0o777 == 0o600
    assert spool.path.parent.stat().st_mode & 0o077 == 0


def test_too_little_room_on_the_disk_refuses_the_run_in_words(lease, monkeypatch):
    monkeypatch.setattr(spools, "RESERVE_BYTES", 2**60)
    with pytest.raises(SpoolFull, match="MiB free in"):
        Spool.create(lease)


def line(second=0, **fields):
    return {"type": "second", **make_second(second, [1000, 2000]).to_json()} | fields


def timings(**response):
    return {"response": Timing.of([1000, 2000]).to_json() | response}


def test_what_we_write_is_taken():
    judge = SecondChecker()
    assert [judge.fault(line(second)) for second in (-1, 0, 1)] == [None] * 3


def test_what_the_document_does_not_name_is_taken_too():
    assert SecondChecker().fault(line(version="2.0")) is None


def test_what_could_not_be_read_later_is_refused_with_its_place():
    for fields, words in [
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
    ]:
        assert words in SecondChecker().fault(line(**fields))


def test_a_second_comes_once():
    judge = SecondChecker()
    judge.fault(line(4))
    assert judge.fault(line(4)) == "second 4 of step 0 came twice"
    assert judge.fault(line(4, step=1)) is None


def test_an_end_may_lack_anything_and_say_more():
    assert end_fault({"type": "end"}) is None
    assert end_fault({"outcome": "complete", "servers": None, "quic": "yes"}) is None


def test_an_end_that_could_not_be_read_later_is_refused():
    for fields, words in [
        ({"outcome": 0}, "outcome is not a text"),
        ({"cpu_us": 1.5}, "cpu_us is not a whole number"),
        ({"totals": {"ok": "3"}}, "totals is not an object of counts"),
        ({"peers": ["10.0.0.5:443"]}, "peers is not an object of counts"),
        (
            {"by_peer": {"10.0.0.5:443": {"counters": {"ok": 1}}}},
            "by_peer is not an object of totals",
        ),
        ({"warnings": "few ports"}, "warnings is not a list of texts"),
        ({"tls": [{"version": "TLSv1.3", "count": 1}]}, "tls is not a list of handshakes"),
        (
            {"tls": [{"version": "TLSv1.3", "cipher": "AES", "count": 1, "chain_bytes": "all"}]},
            "tls is not a list of handshakes",
        ),
        ({"tls_library": 4}, "tls_library is not a text"),
    ]:
        assert words in end_fault({"type": "end", **fields})
