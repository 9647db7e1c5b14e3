"""One run's report, from its measurement. The phases of a finished run: which injectors were active
when, and their replies. One run as text in the style of ab, httperf, JMeter or wsperf, as the
command line prints it. Facts about a run besides its times: negotiated TLS, handshakes,
environment."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from campaigns.domain.analysis.observations import steadiness_of, trend_words
from campaigns.domain.metrics.figures import curve
from campaigns.domain.metrics.injector_end import peers_of, servers_of, totals_by_peer
from campaigns.domain.metrics.kept_requests import (
    KeptRequests,
    Part,
    Span,
    find_phases,
    phases_of_requests,
)
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.series import reply_sizes
from campaigns.domain.metrics.snapshot import Second, Timing, Total, total_of
from campaigns.domain.percentiles import P50
from campaigns.domain.plan.load import mean_rate_per_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.presentation import report_tables as tables
from campaigns.domain.presentation.exchange_tables import close_codes, closes_table, exchange_table
from campaigns.domain.presentation.latency_table import addresses_table, steps_table
from campaigns.domain.presentation.plan_words import plan_load_words, replay_words
from campaigns.domain.presentation.report_tables import (
    phases_table,
    redirects_table,
    session_tables,
    tls_facts,
)
from campaigns.domain.presentation.report_words import (
    RunStatus,
    run_checks,
    run_grounds,
    run_sentence,
    run_tiles,
    three_answers,
)
from campaigns.domain.presentation.request_tables import (
    drawn_columns,
    errors_of,
    outlier_words,
    slowest_table,
)
from campaigns.domain.presentation.results import RunReport
from campaigns.domain.presentation.run_points import progress_of
from campaigns.domain.presentation.tables import Table
from campaigns.domain.presentation.threshold_tables import run_thresholds_table
from campaigns.domain.presentation.what_to_do import what_to_do
from campaigns.domain.units import count, counted, figure, ms, rate
from campaigns.models import Run
from campaigns.runs.queries.measurements import measurement_between, measurement_of
from campaigns.runs.queries.runs import kept_of


def run_report(run: Run, measurement: Measurement | None = None) -> RunReport:
    """The run page's content; without `measurement`, from the stored one."""
    whole = measurement or measurement_of(run)
    figures, total, duration_s = whole.figures, whole.total, whole.duration_s
    plan, state = whole.plan, run_status(run, whole)
    requests = kept_requests(run, whole)
    outliers = (
        "" if state.has_no_answer else outlier_words(requests, total.timing("response"), plan)
    )
    sentence = run_sentence(state)
    answers = three_answers([state], state.found, sentence)
    return RunReport(
        sentence=sentence,
        answers=answers,
        remedies=what_to_do(
            filter(None, [state.judged]), state.failures, figures.attempts, state.found
        ),
        grounds=run_grounds(state),
        tiles=run_tiles(state),
        **_tables(run, whole, state.judged.why_weak if state.judged else "", duration_s),
        phases=phases_of(run, plan, requests),
        slowest=slowest_table(requests, plan),
        requests=drawn_columns(requests, plan),
        progress=progress_of(whole),
        has_no_answer=state.has_no_answer,
        verdicts=state.verdicts,
        trend=""
        if state.has_no_answer
        else trend_words(*steadiness_of(whole), is_over=state.is_done),
        facts=run_facts(run, whole),
        judged=state.judged,
        checks=[*run_checks(state, answers), *([("info", outliers)] if outliers else [])],
        thresholds=run_thresholds_table(state.verdicts).said_of(plan.nouns),
    )


def report_between(run: Run, report: RunReport, first: int, until: int) -> RunReport | None:
    """A finished run's report with the tables and percentiles of these seconds alone; None where
    they are not stored."""
    part = measurement_between(run, first, until)
    if part is None or report.has_no_answer:
        return None
    why_weak = report.judged.why_weak if report.judged else ""
    return replace(report, **_tables(run, part, why_weak, float(until)))


def _tables(run: Run, measurement: Measurement, why_weak: str, end_s: float) -> dict[str, Any]:
    """What a report says of its seconds; `end_s`: where the strips of errors end."""
    total = measurement.total
    plan, attempts = measurement.plan, measurement.figures.attempts
    labels = plan.full_labels
    peers, duration_s = totals_by_peer(measurement.ends), measurement.duration_s
    more = [
        addresses_table(peers, duration_s, plan.nouns, why_weak=why_weak),
        redirects_table(total),
        *session_tables(measurement),
    ]
    return {
        "table": steps_table(measurement, why_weak),
        "exchange": exchange_table(total, duration_s),
        "closes": closes_table(total),
        "more": tuple(each for each in more if each.rows),
        "parts": tables.parts_table(total),
        "errors": errors_of(measurement.failures, labels, measurement.steps, attempts, end_s),
        "vitals": tables.vitals_table(measurement.vitals, shows_hosts=run.shows_machine),
        "curve": curve(total.timing("response")),
    }


def run_status(run: Run, measurement: Measurement) -> RunStatus:
    """What the run's sentence and tiles are written from."""
    return RunStatus(
        state=run.state,
        outcome=str(run.outcome or ""),
        judged=run.judged,
        why=run.told_reason,
        figures=measurement.figures,
        plan=measurement.plan,
        failures=tuple(measurement.failures),
        verdicts=tuple(run.shown_of(measurement.thresholds)),
        measured=progress_of(measurement).words,
        failed_reply_us=measurement.total.timing("failed_reply").percentile_us(P50),
        took_turns=run.frozen.turns is not None,
    )


# Injectors that begin together also end together, apart from chance.
_LEAST_SKEW_S = 1.0


def kept_requests(run: Run, measurement: Measurement) -> KeptRequests:
    """The single requests of a finished run. They are not all where one of its injectors was lost,
    or is an older one."""
    if not run.is_done:
        return KeptRequests()
    requests = KeptRequests.together(row.value() for row in run.kept_requests.order_by("shard"))
    n_ended = measurement.total.count("ok") + measurement.total.count("failed")
    is_all = requests.is_all and len(requests.measured) == n_ended
    return requests if is_all == requests.is_all else KeptRequests(tuple(requests.slowest()))


def phases_of(run: Run, plan: Plan, requests: KeptRequests) -> Table:
    """No rows if all injectors began together and none ended much earlier than the others."""
    spans = _spans(run, plan) if run.is_done and run.n_shards > 1 else []
    if not _differ(spans, plan):
        return phases_table([])
    if requests.is_all:
        return phases_table(phases_of_requests(spans, requests.measured), is_exact=True)
    return phases_table(find_phases(spans, _parts(run)))


def parts_to_keep(run: Run) -> list[Part]:
    """What a finished run's phases are made from; [] if it has none."""
    has_phases = run.n_shards > 1 and _differ(_spans(run, run.frozen.plan), run.frozen.plan)
    return list(_parts(run)) if has_phases else []


def _spans(run: Run, plan: Plan) -> list[Span]:
    """[] if an injector did not report when it ended."""
    by_number = [(shard.number, shard.injector_end) for shard in run.shards.all()]
    ends = [
        (number, end.duration_us if end.measured_us is None else end.measured_us)
        for number, end in by_number
    ]
    if any(end is None for _, end in ends):
        return []
    return [
        Span(number, max(0.0, number * plan.load.start_offset_s - plan.warm_up_s), end / 1e6)
        for number, end in ends
    ]


def _differ(spans: list[Span], plan: Plan) -> bool:
    if not spans:
        return False
    ends = [span.end_s for span in spans]
    return plan.load.start_offset_s > 0 or max(ends) - min(ends) >= _LEAST_SKEW_S


def _parts(run: Run) -> Iterator[Part]:
    """The parts of all steps; no histogram is decoded."""
    if figures := kept_of(run):
        yield from (Part(*values) for values in figures["parts"])
        return
    rows = run.seconds.filter(second__gte=0).order_by("second", "shard")
    for row in rows.iterator(chunk_size=500):
        response = row.value().timings.get("response")
        if response and response.n:
            moments = (response.n, response.sum_us, response.min_us, response.max_us)
            yield Part(row.shard, row.second, *moments)


def warm_up_of(run: Run) -> Total:
    """Of a finished run, with response times only."""
    figures = kept_of(run)
    return Total.from_json(figures["warm_up"]) if figures else total_of(_warm_up(run))


def _warm_up(run: Run) -> Iterator[Second]:
    """The warm-up's seconds with response times only; reports need no more."""
    for row in run.seconds.filter(second__lt=0):
        measurement = row.value()
        response = measurement.timings.get("response", Timing())
        yield Second(
            measurement.second,
            measurement.step,
            measurement.counters,
            timings={"response": response},
        )


# The groups that tell about machines and addresses; a share link hides them unless it says so.
MACHINES = frozenset({"Environment", "Pre-start checks"})

Facts = list[tuple[str, list[list[str]]]]


def run_facts(run: Run, measurement: Measurement) -> Facts:
    """[(group, [[name, value], …]), …] without empty groups."""
    total, ends = measurement.total, measurement.ends
    n_replayed = total.count("replayed")
    what, why = replay_words(measurement.plan)
    n_ragged = total.count("tls_ragged_eof")
    handshakes = [
        *_protocol(run),
        *_handshakes(total),
        *([[what.capitalize(), f"{counted(n_replayed, 'requests')}: {why}"]] if n_replayed else []),
        *([["Closed without close_notify", count(n_ragged)]] if n_ragged else []),
    ]
    hosts = sorted({shard.host for shard in run.shards.all() if shard.host})
    environment = [list(pair) for pair in run.frozen.environment]
    environment += [
        [f"Address {peer}", counted(number, "connections")]
        for peer, number in peers_of(ends).items()
    ]
    servers = servers_of(ends)
    groups = [
        ("Load, planned and reached", _load(measurement)),
        ("TLS", tls_facts(run.frozen.endpoint, ends)),
        ("Handshakes", handshakes),
        ("Bytes", [*_bytes(total), *_reply_parts(total)]),
        (
            "Environment",
            [
                *environment,
                *([["Server", ", ".join(servers)]] if servers else []),
                *([["Injector hosts", ", ".join(hosts)]] if hosts else []),
            ],
        ),
        # Resource shortages that the injectors warned of.
        (
            "Pre-start checks",
            [
                [f"Injector process {n}", text]
                for n, end in enumerate(ends, 1)
                for text in end.warnings
            ],
        ),
    ]
    return [(title, pairs) for title, pairs in groups if pairs]


def _load(measurement: Measurement) -> list[list[str]]:
    """Planned against actual load: compare these before the response times."""
    if measurement.sent_per_s is None:
        return []
    plan, most = measurement.plan, measurement.most_in_flight
    # The planned rate in requests/s, like the rate sent.
    arrivals_per_s = mean_rate_per_s(plan.load)
    return [
        ["Planned", plan_load_words(plan)],
        *(
            [["Rate planned", f"{rate(arrivals_per_s * plan.calls_per_arrival)}/s"]]
            if arrivals_per_s
            else []
        ),
        ["Rate sent", f"{rate(measurement.sent_per_s)}/s"],
        *([["After the end", measurement.tail_words]] if measurement.tail_words else []),
        ["In flight, mean", figure(measurement.mean_in_flight)],
        *([["In flight, maximum at the end of a second", count(most)]] if most is not None else []),
    ]


def _protocol(run: Run) -> list[list[str]]:
    """The version of HTTP, and who agreed to it: one that a server does not speak is an error."""
    plan, endpoint = run.frozen.plan, run.frozen.endpoint
    if plan.exchange is not None:
        return []
    version = f"HTTP/{plan.http_version}"
    if plan.http_version != HttpVersion.HTTP_2:
        return [["Protocol", version]]
    how = "by ALPN" if endpoint.is_tls and endpoint.tls.alpn else "by prior knowledge"
    streams = f", {counted(plan.streams, 'streams')} a connection" if plan.streams > 1 else ""
    return [["Protocol", f"{version} {how}{streams}"]]


def _handshakes(total: Total) -> list[list[str]]:
    connections = total.count("connections_opened")
    pairs = [["Connections opened", count(connections)]]
    requests = total.count("ok") + total.count("failed")
    n_websockets = sum(close_codes(total).values())
    if n_websockets:
        pairs.append(["WebSockets opened", count(n_websockets)])
    elif connections:
        pairs.append(["Requests per connection", f"{requests / connections:,.1f}"])
    # How often a window was full, and how often it was refilled.
    n_full, n_refills = total.count("window_throttled"), total.count("window_resumed")
    if n_full or n_refills:
        pairs.append(["High mark reached", counted(n_full, "times")])
        pairs.append(["Refilled after falling below the low mark", counted(n_refills, "times")])
    full, resumed = total.count("tls_full"), total.count("tls_resumed")
    if full or resumed:
        pairs.append(["TLS handshakes", f"{count(full)} full, {count(resumed)} resumed"])
        pairs.append(["TLS handshake, mean", ms(total.timing("tls").mean_us)])
    return pairs


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
