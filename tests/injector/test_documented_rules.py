"""What docs/injector.md says in figures and bytes is what the code does."""

import json
import re

import pytest

from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.plan.addresses import _NEVER, parse_networks, vet
from campaigns.domain.plan.arrivals import MEASURED, WARM_UP, _generator, schedule
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.flows import flow_order
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import OrderKind, StepOrder, draw
from tests.injector.test_contract import DOCS
from workers.injector.users import _STREAM, _THINK_STREAM
from workers.injector.websocket.channel import UpgradeRequest
from workers.injector.websocket.exchange_context import ExchangeContext, ExchangeRecorder

pytestmark = pytest.mark.pure

TEXT = (DOCS / "injector.md").read_text()
SEED = 7
EVERYWHERE = parse_networks(["0.0.0.0/0", "::/0"])


def example(start):
    """The JSON object in the document that begins with this text."""
    return json.JSONDecoder().raw_decode(TEXT[TEXT.index(start) :])[0]


def dues_ns(warm_up_s=0, **load):
    plan = Plan.from_json({"steps": [{}], "load": {"model": "open", **load}})
    return [due for _, due in schedule(plan.load, warm_up_s, seed=SEED)]


def pause_ns(number):
    think_time = {"kind": "exponential", "mean_s": 1}
    load = {"model": "closed", "connections": 1, "requests": 1}
    plan = Plan.from_json({"steps": [{}], "load": load, "session": {"think_time": think_time}})
    share = draw(SEED ^ _THINK_STREAM, number) / 2**64
    return int(plan.session.think_time.drawn_s(share) * 1e9)


def test_what_is_drawn_is_what_the_document_shows():
    by_weight = StepOrder(OrderKind.WEIGHTED, 1, (5.0, 3.0, 1.0))
    evenly = StepOrder(OrderKind.RANDOM)
    ramp = {"duration_s": 2, "from_per_s": 0, "to_per_s": 3}
    steps = [{"duration_s": 1, "from_per_s": rate} for rate in (2, 0, 2)]
    poisson = {"rate_per_s": 3, "distribution": "exponential"}
    gaps = {"uniform_min_s": 0.1, "uniform_max_s": 0.3, "requests": 3}
    assert example('{"draw"') == {
        "draw": [draw(SEED, k) for k in range(3)],
        "random_of_3_steps": [evenly.step_at(k, 3, SEED) for k in range(6)],
        "weighted_5_3_1": [by_weight.step_at(k, 3, SEED) for k in range(6)],
        "random_of_10_rows": [draw(SEED ^ _STREAM, k) * 10 >> 64 for k in range(3)],
        "flows_of_90_and_10": list(flow_order((9, 1), SEED)[:20]),
        "flows_of_5_3_and_2": list(flow_order((5, 3, 2), SEED)[:20]),
        "pauses_of_user_0_exponential_mean_1_ns": [pause_ns(k) for k in range(3)],
        "pcg64_stream_0": _generator(SEED, MEASURED).random(3).tolist(),
        "pcg64_stream_1": _generator(SEED, WARM_UP).random(3).tolist(),
        "exponential_3_per_s_for_1_s_ns": dues_ns(duration_s=1, **poisson),
        "exponential_3_per_s_with_warm_up_1_s_ns": dues_ns(1, duration_s=1, **poisson),
        "exponential_3_per_s_9_requests_ns": dues_ns(requests=9, **poisson),
        "uniform_from_0.1_to_0.3_s_ns": dues_ns(distribution="uniform", **gaps),
        "uniform_from_0.1_to_0.3_s_warm_up_1_s_ns": dues_ns(1, distribution="uniform", **gaps)[:5],
        "stages_from_0_to_3_per_s_in_2_s_ns": dues_ns(stages=[ramp]),
        "exponential_stages_from_0_to_3_per_s_in_2_s_ns": dues_ns(
            stages=[ramp], distribution="exponential"
        ),
        "stages_1_s_of_2_per_s_1_s_of_0_1_s_of_2_ns": dues_ns(stages=steps),
    }


def test_every_network_that_is_always_refused_is_listed():
    table = TEXT[TEXT.index("### Policy") : TEXT.index("### Draws")]
    networks = set(re.findall(r"[0-9a-f:.]+/\d+", table.partition("All others")[0]))
    assert networks == {str(network) for network, _ in _NEVER} | {"::/96"}


def test_what_the_document_says_may_be_listed_may():
    for address in ["100.64.0.1", "198.18.0.1", "fc00::1", "::1"]:
        assert vet(address, 443, EVERYWHERE) is None


def test_single_empty_buckets_are_written_as_the_document_shows():
    bucket = example('{"n": 2, "sum_us": 4,')
    assert Timing.from_json(bucket) == Timing.of([1, 3])


def test_the_opening_handshake_is_shown_to_the_byte():
    exchange = Exchange(path="/", subprotocols=("chat", "news"))
    lines = TEXT[TEXT.index("    GET / HTTP/1.1") :].partition("\n\n")[0]
    text = "".join(line.strip() for line in lines.splitlines()).replace("\\r\\n", "\r\n")
    key = b"(16 random bytes in base64)"
    assert UpgradeRequest.of(exchange, "shop.test").bytes_with(key) == text.encode()


def test_a_message_is_what_the_document_says():
    plan = Plan.from_json(
        {"exchange": {"size_bytes": 40}, "load": {"model": "sequential", "requests": 1}}
    )
    context = ExchangeContext(plan, None, ExchangeRecorder(is_scheduled=False))
    assert context.payload(11, {}) == (b"0000000b" + b"benchsite message " * 2)[:40]
