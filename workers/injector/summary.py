"""A run from the command line as one object: what `--json` prints and the reports draw.

A run as an HdrHistogram log, which the tools around HdrHistogram read: `--hlog`.

One line for each second and timing, tagged with the timing's name. Values are microseconds; start
times count from the start of measuring; the warm-up is left out.

Runs orders from the command line: one in this process, or several in child processes."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import gevent
from gevent.subprocess import PIPE, Popen

from campaigns.domain.analysis.judgement import Judgement, judge
from campaigns.domain.analysis.observations import hosts_of, is_loopback, observe
from campaigns.domain.analysis.thresholds import ThresholdJudge, Verdict, threshold_state, weigh
from campaigns.domain.lifecycle import StopReason
from campaigns.domain.metrics.figures import Figures, figures_of
from campaigns.domain.metrics.injector_end import (
    InjectorEnd,
    peers_of,
    servers_of,
    sum_of,
    totals_by_peer,
    warnings_of,
)
from campaigns.domain.metrics.kept_requests import KeptRequests
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import cause_words
from campaigns.domain.metrics.snapshot import TIMINGS, Second, Timing, Total, session_figures
from campaigns.domain.other_tools.report_words import ReportHead
from campaigns.domain.other_tools.reports import REPORTS
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.latency_table import figures_by_key
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.request_tables import outlier_words, slowest_lines
from workers.dialling import own_addresses
from workers.injector.connection import NS, now
from workers.injector.engine import Engine
from workers.injector.order import Order, Refusal
from workers.injector.tls_library import KeyLog

PERCENTILES = {
    "p50": 50_000, "p66": 66_000, "p75": 75_000, "p80": 80_000, "p90": 90_000, "p95": 95_000,
    "p98": 98_000, "p99": 99_000, "p99.9": 99_900,
}  # fmt: skip
_ENDINGS = ("ok", "failed", "carried")
_OF_FAILURE = ("step", "kind", "status", "count", "first", "last", "details")


@dataclass
class LocalRun:
    """Takes what the injectors of a run say, (injector, second) pairs and their end lines, and
    gives its measurement, verdict and reports. `show` sees each second as it comes."""

    plan: Plan
    rows: list[tuple[int, Second]] = field(default_factory=list)
    ends: list[InjectorEnd] = field(default_factory=list)
    started_at: float = 0.0  # of measuring, seconds since the epoch
    show: Callable[[Second], None] = lambda second: None
    _parts: list[KeptRequests] = field(default_factory=list)

    def requests(self, line: dict[str, Any], injector: int = 0) -> None:
        self._parts.append(KeptRequests.from_line(line, injector))

    @cached_property
    def kept_requests(self) -> KeptRequests:
        """The requests that were kept one by one."""
        return KeptRequests.together(self._parts)

    def second(self, second: Second, injector: int = 0) -> None:
        """The output of an engine, or of a child process."""
        self.rows.append((injector, second))
        self.show(second)

    @property
    def seconds(self) -> list[Second]:
        return [second for _, second in self.rows]

    @cached_property
    def measurement(self) -> Measurement:
        """Of a run that is over: asked for once all was said."""
        rows = sorted(self.rows, key=lambda row: row[1].second)
        last_seconds = {injector: second.second for injector, second in rows}
        measurement = Measurement(
            self.plan,
            hosts=dict.fromkeys({*range(len(self.ends)), *last_seconds}, ""),
            judge=ThresholdJudge(self.plan.thresholds, self.plan.flows),
            last_seconds=last_seconds,
            is_whole=all(end.is_complete for end in self.ends),
        )
        for injector, second in rows:
            measurement.add(second, injector)
        for injector, end in enumerate(self.ends):
            measurement.close(end, injector)
        return measurement.settle()

    @property
    def total(self) -> Total:
        """Everything measured; the warm-up is apart."""
        return self.measurement.total

    @cached_property
    def judgement(self) -> Judgement:
        """By the same rules as a campaign's runs."""
        hosts = hosts_of(list(peers_of(self.ends)))
        is_co_located = any(map(is_loopback, hosts)) or bool(hosts & set(own_addresses()))
        observations = observe(self.measurement, is_co_located=is_co_located)
        return judge(observations, self.total.timing("response")).said_of(self.plan.nouns)

    def report(self, style: str, order: dict[str, Any]) -> str:
        """The text in the style of a tool."""
        head = ReportHead(
            host=order["endpoint"]["host"],
            port=order["endpoint"]["port"],
            connection_mode=order["connection_mode"],
            judged=self.judgement,
            server_name=order["endpoint"].get("tls", {}).get("sni", ""),
        )
        text = REPORTS[style](self.measurement, head)
        outliers = outlier_words(self.kept_requests, self.total.timing("response"), self.plan)
        lines = [*slowest_lines(self.kept_requests, self.plan), outliers]
        if style == "plain" and lines[0]:
            text = "\n".join([text, "", *filter(None, lines)])
        return text

    @property
    def verdicts(self) -> list[Verdict]:
        return weigh(self.measurement.thresholds, self.judgement.measurement.state)

    def to_json(self) -> dict[str, Any]:
        """The summary. Names of figures as in presentation.metrics, times in ms; what was not timed
        is absent, what cannot be said is null."""
        measurement, total = self.measurement, self.total
        attempts = sum(end.totals.get(name, 0) for end in self.ends for name in _ENDINGS)
        cpu_us = sum_of(self.ends, "cpu_us") or 0
        metrics = _metrics(measurement.figures)
        worst: dict[str, float] = {}
        for each in self.measurement.vitals:
            for name, value in each["worst"].items():
                worst[name] = max(value, worst.get(name, value))
        return {
            "judgement": self.judgement.to_json(),
            "warnings": warnings_of(self.ends),
            "threshold_state": threshold_state(self.verdicts),
            "thresholds": [each.to_json() for each in self.verdicts],
            "outcome": "complete" if measurement.is_whole else "stopped",
            "metrics": metrics,
            "low": {
                key: round(each.low, 6)
                for key, each in figures_by_key(measurement.figures).items()
                if each.low is not None
            },
            "units": {name: METRICS[name].unit for name in metrics if METRICS[name].unit},
            "timings_ms": {
                name: timing_ms(total.timing(name)) for name in TIMINGS if total.timing(name).n
            },
            "counters": total.counters,
            "errors": total.errors,
            "statuses": total.statuses,
            "tail_s": round(measurement.tail_s, 6),
            "failures": [
                {name: getattr(row, name) for name in _OF_FAILURE} | {"words": cause_words(row)}
                for row in measurement.failures
            ],
            "warm_up": measurement.warm_up.counters,
            "slowest": [asdict(each) for each in self.kept_requests.slowest()],
            "tls": [asdict(each) for end in self.ends for each in end.tls],
            "peers": peers_of(self.ends),
            **_addresses(measurement),
            "servers": servers_of(self.ends) or [],
            **_sessions(total, measurement.duration_s),
            **_flows(measurement),
            "cpu_us_per_request": round(cpu_us / attempts, 3) if attempts else None,
            "vitals": worst,
        }


def _sessions(total: Total, duration_s: float) -> dict[str, Any]:
    figures = session_figures(total, duration_s)
    return {} if figures is None else {"sessions": figures.to_json()}


def _addresses(measurement: Measurement) -> dict[str, Any]:
    """Where load went over several addresses: figures and errors of each."""
    totals = totals_by_peer(measurement.ends)
    if not totals:
        return {}
    return {
        "addresses": {
            peer: {
                "metrics": _metrics(figures_of(total, measurement.duration_s)),
                "errors": total.errors,
            }
            for peer, total in totals.items()
        }
    }


def _flows(measurement: Measurement) -> dict[str, Any]:
    """What each flow did, of a plan that has some."""
    flows = [
        {
            "name": flow.name,
            "share": flow.share,
            "metrics": _metrics(figures_of(total, measurement.duration_s)),
            "session_ms": timing_ms(total.timing("session")),
            **_sessions(total, measurement.duration_s),
        }
        for flow, total in zip(measurement.plan.flows, measurement.flows, strict=True)
    ]
    return {"flows": flows} if flows else {}


def _metrics(figures: Figures) -> dict[str, float | None]:
    """Percentiles only where enough requests lie beyond them."""
    values = {key: figure.value for key, figure in figures_by_key(figures).items()}
    share = figures.error_share
    values["error_share"] = None if share is None else share * 100
    return {
        name: value if value is None or isinstance(value, int) else round(value, 6)
        for name, value in values.items()
    }


def timing_ms(timing: Timing) -> dict[str, float | int] | None:
    """n, mean, sd, min, max and percentiles in ms; None where nothing was timed."""
    if not timing.n:
        return None
    figures = {"mean": timing.mean_us, "sd": timing.sd_us, "min": timing.min_us}
    figures |= {name: timing.percentile_us(rank) for name, rank in PERCENTILES.items()}
    figures["max"] = timing.max_us
    return {"n": timing.n} | {
        name: round(us / 1000, 4) for name, us in figures.items() if us is not None
    }


def hlog_lines(run: LocalRun) -> Iterator[str]:
    """The log in format 1.3 with histograms of the V2 encoding."""
    start = run.started_at
    words = datetime.fromtimestamp(start, UTC).isoformat(timespec="milliseconds")
    yield "#[Histogram log format version 1.3]"
    yield "#[Values are microseconds, tags are timings]"
    yield f"#[StartTime: {start:.3f} (seconds since epoch), {words}]"
    yield f"#[BaseTime: {start:.3f} (seconds since epoch)]"
    yield '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    seconds: dict[int, Total] = {}
    for second in run.seconds:
        if second.second >= 0:
            seconds.setdefault(second.second, Total()).add(second)
    for number, total in sorted(seconds.items()):
        for name in TIMINGS:
            timing = total.timing(name)
            if timing.n:
                payload = timing.histogram.encode()
                yield f"Tag={name},{number}.000,1.000,{timing.max_us}.000,{payload}"


START_DELAY_NS = NS // 20
Show = Callable[[Second], None]


def run_here(order: dict[str, Any], show: Show, key_log: KeyLog | None = None) -> LocalRun:
    """Run one injector in this process; Ctrl-C ends it and keeps the results. Raises Refusal."""
    engine_order = Order.from_json(order)
    run = LocalRun(engine_order.plan, show=show)
    engine = Engine(engine_order, run, key_log)
    warn(engine.prepare())
    handlers = [
        gevent.signal_handler(number, engine.stop, StopReason.USER)
        for number in (signal.SIGINT, signal.SIGTERM)
    ]
    start_ns = now() + START_DELAY_NS
    run.started_at = _wall_clock_s(start_ns, engine_order.plan)
    run.ends.append(engine.run(start_ns))
    for handler in handlers:
        handler.cancel()
    return run


def run_processes(order: dict[str, Any], count: int, show: Show) -> LocalRun:
    """Split the order among `count` processes with a common start. Raises Refusal."""
    run = LocalRun(Order.from_json(order).plan, show=show)

    def begin(start_ns: int) -> None:
        run.started_at = _wall_clock_s(start_ns, run.plan)

    def take(message: dict[str, Any], number: int) -> None:
        if message["type"] == "second":
            run.second(Second.from_json(message), number)
        elif message["type"] == "requests":
            run.requests(message, number)
        elif message["type"] == "end":
            run.ends.append(InjectorEnd.from_json(message))

    InjectorProcesses(order, count).run(take, begin)
    return run


def shared_orders(order: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The order of each of `count` processes."""
    plan = order["arms"][0]["plan"] if "arms" in order else order["plan"]
    common = {"count": count, "weights": plan["load"].get("shares", [])}
    return [order | {"shard": {"index": index, **common}} for index in range(count)]


def tell(line: str) -> None:
    """On standard error. Nobody may be listening any more: a measurement does not end by that."""
    try:
        print(line, file=sys.stderr)
    except OSError:
        # What is left in its buffer would fail again at the exit, which would then have status 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def warn(facts: dict[str, Any]) -> None:
    for text in facts.get("warnings", ()):
        tell(f"Warning: {text}")


def _wall_clock_s(start_ns: int, plan: Plan) -> float:
    """When measuring begins. Asked once: durations never come from this clock."""
    return time.time() + (start_ns - now()) / NS + plan.warm_up_s


class InjectorProcesses:
    """`count` processes that share an order, and our ends of the protocol."""

    def __init__(self, order: dict[str, Any], count: int):
        self._children = [_Child(each) for each in shared_orders(order, count)]

    def run(
        self,
        take: Callable[[dict[str, Any], int], None],
        begin: Callable[[int], None] = lambda start_ns: None,
    ) -> None:
        """Start them together and `take` each line with the process's number, until all have ended.
        `begin` gets the instant of the start. Raises Refusal."""
        handler = gevent.signal_handler(signal.SIGINT, self._stop)
        try:
            for child in self._children:
                child.await_ready()
            start_ns = now() + START_DELAY_NS
            begin(start_ns)
            self.say({"start_at_ns": start_ns})
            gevent.joinall([gevent.spawn(self._follow, each, take) for each in self._children])
        finally:
            handler.cancel()
            for child in self._children:
                child.end()
        if not all(child.has_ended for child in self._children):
            raise Refusal("client_other", "An injector process ended before its run was over.")

    def say(self, message: dict[str, Any]) -> None:
        """To all whose run is not over: one with a small share may have ended before others."""
        for child in self._children:
            if not child.has_ended:
                with contextlib.suppress(BrokenPipeError):
                    child.say(message)

    def _follow(self, child: "_Child", take: Callable[[dict[str, Any], int], None]) -> None:
        for message in child.messages():
            take(message, child.number)
        if not child.has_ended:  # the others' part alone is no result
            self._stop()

    def _stop(self) -> None:
        self.say({"stop": StopReason.USER})


class _Child:
    def __init__(self, order: dict[str, Any]):
        command = [sys.executable, "-m", "workers.injector"]
        # In a new session: Ctrl-C only reaches this process, which then stops the children.
        self.has_ended = False
        self.number = order["shard"]["index"]
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, start_new_session=True)
        self.say(order)

    def say(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def await_ready(self) -> None:
        line = self._process.stdout.readline()
        message = (
            json.loads(line)
            if line
            else {"type": "", "reason": "The injector process ended without a message."}
        )
        if message["type"] != "ready":
            raise Refusal(message.get("kind", "client_other"), message["reason"])
        warn(message["facts"])

    def messages(self) -> Iterator[dict[str, Any]]:
        for line in self._process.stdout:
            message = json.loads(line)
            self.has_ended = self.has_ended or message["type"] == "end"
            yield message

    def end(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
