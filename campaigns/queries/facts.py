"""Facts about a run besides its times: negotiated TLS, handshakes, environment."""

from campaigns.domain.measured.injector_end import InjectorEnd, peers_of, servers_of
from campaigns.domain.measured.measurement import Measurement
from campaigns.domain.measured.reply_sizes import reply_sizes
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.load import mean_rate_per_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.exchange_tables import close_codes
from campaigns.domain.shown.plan_words import plan_load_words, replay_words
from campaigns.domain.shown.tls_facts import tls_facts
from campaigns.domain.units import count, counted, figure, ms, rate
from campaigns.models import Run

# The groups that tell about machines and addresses; a share link hides them unless it says so.
MACHINES = frozenset({"Environment", "Pre-start checks"})

Facts = list[tuple[str, list[list[str]]]]


def run_facts(run: Run, seen: Measurement) -> Facts:
    """[(group, [[name, value], …]), …] without empty groups."""
    total, ends = seen.total, seen.ends
    handshakes = [*_spoken(run), *_handshakes(total), *_replays(total, seen.plan), *_ragged(total)]
    groups = [
        ("Load, planned and reached", _load(seen)),
        ("TLS", tls_facts(run.frozen.endpoint, ends)),
        ("Handshakes", handshakes),
        ("Bytes", [*_bytes(total), *_reply_parts(total)]),
        ("Environment", _environment(run, ends)),
        ("Pre-start checks", _warnings(ends)),
    ]
    return [(title, pairs) for title, pairs in groups if pairs]


def _load(seen: Measurement) -> list[list[str]]:
    """Planned against actual load: compare these before the response times."""
    if seen.sent_per_s is None:
        return []
    plan, most = seen.plan, seen.most_in_flight
    return [
        ["Planned", plan_load_words(plan)],
        *_rate_asked(mean_rate_per_s(plan.load), plan.calls_per_arrival),
        ["Rate sent", f"{rate(seen.sent_per_s)}/s"],
        ["In flight, mean", figure(seen.mean_in_flight)],
        *([["In flight, maximum at the end of a second", count(most)]] if most is not None else []),
    ]


def _rate_asked(arrivals_per_s: float | None, calls: int) -> list[list[str]]:
    """The planned rate in requests/s, like the rate sent."""
    return [["Rate planned", f"{rate(arrivals_per_s * calls)}/s"]] if arrivals_per_s else []


def _spoken(run: Run) -> list[list[str]]:
    """The version of HTTP, and who agreed to it: one that a server does not speak is an error."""
    plan, endpoint = run.frozen.plan, run.frozen.endpoint
    if plan.exchange is not None:
        return []
    version = f"HTTP/{plan.http_version}"
    if plan.http_version != HttpVersion.HTTP_2:
        return [["Protocol", version]]
    agreed = "by ALPN" if endpoint.is_tls and endpoint.tls.alpn else "by prior knowledge"
    streams = f", {counted(plan.streams, 'streams')} a connection" if plan.streams > 1 else ""
    return [["Protocol", f"{version} {agreed}{streams}"]]


def _handshakes(total: Total) -> list[list[str]]:
    connections = total.count("connections_opened")
    pairs = [["Connections opened", count(connections)]]
    requests = total.count("ok") + total.count("failed")
    opened = sum(close_codes(total).values())
    if opened:
        pairs.append(["WebSockets opened", count(opened)])
    elif connections:
        pairs.append(["Requests per connection", f"{requests / connections:,.1f}"])
    pairs += _window(total)
    full, resumed = total.count("tls_full"), total.count("tls_resumed")
    if full or resumed:
        pairs.append(["TLS handshakes", f"{count(full)} full, {count(resumed)} resumed"])
        pairs.append(["TLS handshake, mean", ms(total.timing("tls").mean_us)])
    return pairs


def _replays(total: Total, plan: Plan) -> list[list[str]]:
    n_replayed = total.count("replayed")
    what, why = replay_words(plan)
    return [[what.capitalize(), f"{counted(n_replayed, 'requests')}: {why}"]] if n_replayed else []


def _ragged(total: Total) -> list[list[str]]:
    n_ragged = total.count("tls_ragged_eof")
    return [["Closed without close_notify", count(n_ragged)]] if n_ragged else []


def _window(total: Total) -> list[list[str]]:
    """How often a window was full, and how often it was refilled; [] for other loads."""
    throttled, resumed = total.count("window_throttled"), total.count("window_resumed")
    if not throttled and not resumed:
        return []
    return [
        ["High mark reached", counted(throttled, "times")],
        ["Refilled after falling below the low mark", counted(resumed, "times")],
    ]


def _bytes(total: Total) -> list[list[str]]:
    """Application bytes and TCP bytes, if the injector's kernel reported them."""
    if not total.count("wire_received"):
        return []
    protocol = "WebSocket" if close_codes(total) else "HTTP"
    return [
        [f"{word}, {layer}", f"{count(total.count(name))} B"]
        for word, layer, name in (
            ("Sent", protocol, "bytes_sent"),
            ("Sent", "TCP", "wire_sent"),
            ("Received", protocol, "bytes_received"),
            ("Received", "TCP", "wire_received"),
        )
    ]


def _reply_parts(total: Total) -> list[list[str]]:
    """Mean sizes of an ok reply's parts; parts that never occurred are left out."""
    sizes = reply_sizes(total)
    if sizes is None:
        return []
    spread = f" ± {figure(sizes.body_sd)}" if sizes.varies else ""
    return [
        ["Header per response", f"{_mean(sizes.head)} B"],
        ["Body per response", f"{_mean(sizes.body)}{spread} B"],
        *([["Chunked framing per response", f"{_mean(sizes.framing)} B"]] if sizes.framing else []),
    ]


def _mean(size: float) -> str:
    """A whole mean as an exact count."""
    return count(int(size)) if size == int(size) else figure(size)


def _warnings(ends: list[InjectorEnd]) -> list[list[str]]:
    """Resource shortages that the injectors warned of."""
    return [
        [f"Injector process {number}", text]
        for number, end in enumerate(ends, 1)
        for text in end.warnings
    ]


def _environment(run: Run, ends: list[InjectorEnd]) -> list[list[str]]:
    hosts = sorted({shard.host for shard in run.shards.all() if shard.host})
    pairs = [list(pair) for pair in run.frozen.environment]
    pairs += [
        [f"Address {peer}", counted(number, "connections")]
        for peer, number in peers_of(ends).items()
    ]
    servers = servers_of(ends)
    return [
        *pairs,
        *([["Server", ", ".join(servers)]] if servers else []),
        *([["Injector hosts", ", ".join(hosts)]] if hosts else []),
    ]
