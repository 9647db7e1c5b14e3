"""What migrations compute stays as it was: stored values, and what comes of them."""

import pytest

from campaigns.domain.measured.histogram import Histogram
from campaigns.migrations.frozen.kept_figures import facts_of
from campaigns.migrations.frozen.packed_seconds import unpacked
from campaigns.migrations.frozen.payloads import middle_us, payload_of, read_payload
from campaigns.migrations.frozen.run_figures import run_figures
from tests.domain.measured.test_packed_second import FORMAT_1, FORMAT_2

pytestmark = pytest.mark.pure
OF_70_MS = 7237  # its bucket, 64 \u00b5s wide


def total_of(filled: list[tuple[int, int]], max_us: int, **counters: int) -> dict:
    n = sum(count for _, count in filled)
    moments = {"n": n, "sum_us": 1000 * n, "min_us": filled[0][0], "max_us": max_us}
    response = moments | {"histogram": payload_of(filled)}
    return {"counters": {"ok": n, **counters}, "timings": {"response": response}}


@pytest.mark.parametrize("stored", [FORMAT_1, FORMAT_2])
def test_a_packed_second_of_either_format_is_unpacked(stored):
    told = unpacked(bytes.fromhex(stored))
    timings = told.pop("timings")
    assert told == {
        "counters": {"ok": 3, "started": 4},
        "errors": {"reset": 1},
        "statuses": {"200": 3},
        "in_flight": 2,
        "vitals": {"cpu_share": 0.25, "hub_lag_max_us": 812},
    }
    payloads = {name: timing.pop("histogram") for name, timing in timings.items()}
    squares = 900**2 + 1000**2 + 70_000**2
    assert timings == {
        "response": {
            "n": 3,
            "sum_us": 71_900,
            "sum_squares": squares,
            "min_us": 900,
            "max_us": 70_000,
        },
        "failed": {"n": 1, "sum_us": 50, "sum_squares": 2500, "min_us": 50, "max_us": 50},
    }
    assert read_payload(payloads["response"]) == [(900, 1), (1000, 1), (OF_70_MS, 1)]
    assert read_payload(payloads["failed"]) == [(50, 1)]


@pytest.mark.parametrize(
    "filled",
    [
        [],
        [(0, 1)],
        [(1, 1), (3, 2), (4, 200)],
        [(2, 63), (3, 64), (OF_70_MS, 2**14 - 1)],
        [(5, 2**55), (6, 2**61)],
    ],
)
def test_a_payload_says_what_was_put_into_it_as_the_product_reads_it(filled):
    payload = payload_of(filled)
    assert read_payload(payload) == filled
    counts = Histogram.decode(payload).counts
    assert [(int(at), int(counts[at])) for at in counts.nonzero()[0]] == filled


@pytest.mark.parametrize(
    ("bucket", "us"), [(0, 0), (2047, 2047), (2048, 2048.5), (OF_70_MS, 69983.5)]
)
def test_a_bucket_stands_for_its_middle(bucket, us):
    assert middle_us(bucket) == us


def test_a_run_has_the_percentiles_that_enough_requests_lie_beyond():
    total = total_of([(1000, 90), (OF_70_MS, 10)], 70_000, failed=3, dropped=1)
    assert run_figures(total) == {
        "n": 100,
        "errors": 4,
        "mean_us": 1000.0,
        "p50_us": 1000.0,
        "p95_us": 69983.5,
        "p99_us": None,
    }


def test_a_percentile_is_never_beyond_what_was_measured():
    assert run_figures(total_of([(OF_70_MS, 100)], 69_960))["p50_us"] == 69_960


def test_a_run_of_failures_alone_has_no_times():
    assert run_figures({"counters": {"failed": 2}, "timings": {}}) == {
        "n": 0,
        "errors": 2,
        "mean_us": None,
        "p50_us": None,
        "p95_us": None,
        "p99_us": None,
    }


def test_the_facts_of_a_test_are_words():
    endpoint = {"scheme": "https", "host": "::1", "port": 8443}
    options = {"min_version": "1.3", "alpn": False, "fingerprint": "ab" * 32, "of_later": True}
    agreed = {"version": "TLSv1.3", "cipher": "TLS_AES_256_GCM_SHA384", "count": 3}
    shards = [("inj-1", ["nginx"], [agreed]), ("inj-2", None, None)]
    assert facts_of([["CPU", "2 cores"]], endpoint | {"tls": options}, shards) == {
        "CPU": "2 cores",
        "Endpoint": "https://[::1]:8443",
        "TLS options": "TLS 1.3 or newer, offers no ALPN, "
        "only the certificate abababababababab\u2026 is accepted",
        "Injector hosts": "inj-1, inj-2",
        "Server": "nginx",
        "TLS": "TLSv1.3, TLS_AES_256_GCM_SHA384",
    }
