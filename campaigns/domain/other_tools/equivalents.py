"""The command of ab, httperf, wrk, k6 or h2load that does what a plan does; or why there is none.

TARGET is a placeholder for host and port, HOST and PORT for either: a plan has none. If a tool
cannot do what the plan does, there is no command instead of a misleading one.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from campaigns.domain.other_tools.k6_script import script, why_no_script
from campaigns.domain.plan.exchange import Deflate
from campaigns.domain.plan.load import (
    MAX_REQUESTS,
    ArrivalUnit,
    Distribution,
    Hold,
    Load,
    Model,
    mean_rate_per_s,
    planned_arrivals,
)
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import PLAIN_SESSION, AuthKind, HttpVersion, ThinkKind
from campaigns.domain.plan.step import Redirects, Step

URL = "http://TARGET"
_CLOSED = {Model.CLOSED, Model.SEQUENTIAL}


@dataclass(frozen=True, slots=True)
class Equivalent:
    """`command` is "" if there is none; `words` then say why, else what still differs."""

    tool: str
    command: str
    words: str


_EACH = " This is one injector's share: start it once per injector process of the campaign."

_NO_WARM_UP = " It has no warm-up; everything counts."


class _NoneExists(Exception):
    """There is no equivalent; the text is a sentence that says why."""


def equivalents(plan: Plan) -> list[Equivalent]:
    """One entry for each tool that measures what the plan does."""
    if plan.exchange is not None:
        http_only = [Equivalent(tool, "", _HTTP_ONLY) for tool in ("ab", "httperf", "wrk")]
        why_not, load = _why_not_wsperf(plan), plan.load
        address = shlex.quote(f"ws://TARGET{plan.exchange.path}")
        command = f"wsperf {address} 1 {load.requests} {load.low} {load.high} result_%d.json"
        wsperf = Equivalent("wsperf", "" if why_not else command, why_not or _WSPERF)
        return [*http_only, Equivalent("k6", "", _K6), wsperf]
    is_http2 = plan.http_version == HttpVersion.HTTP_2
    tools = _TOOLS_OF_HTTP_2 if is_http2 else _TOOLS
    return [_equivalent(tool, make, plan) for tool, make in tools.items()]


def _equivalent(tool: str, make: "_Maker", plan: Plan) -> Equivalent:
    try:
        if plan.load.model == Model.WINDOW:
            raise _NoneExists("It cannot limit connections being opened to a window; wsperf can.")
        if plan.flows:
            raise _NoneExists("Not available for plans with flows.")
        if plan.connection_mode == ConnectionMode.RESUMED:
            raise _NoneExists("It cannot resume the TLS session on every new connection.")
        if any(
            "${" in text
            for step in plan.steps
            for text in (step.path, step.body, *(value for _, value in step.headers))
        ):
            raise _NoneExists("Not available for plans with variables.")
        if plan.redirects != Redirects.OFF:
            raise _NoneExists("It does not follow redirects, or not as this plan does.")
        if any(step.checks for step in plan.steps):
            raise _NoneExists("Not available for plans that check replies this way.")
        if any(step.has_more_body for step in plan.steps):
            raise _NoneExists("A single command cannot send this body. This needs its files.")
        if plan.auth.kind != AuthKind.NONE:
            raise _NoneExists("The credentials are secret, so they are not written into a command.")
        if isinstance(make, str):
            raise _NoneExists(make)
        command, words = make(plan)
        words += _EACH if plan.load.per_injector else ""
        return Equivalent(tool, command, words + (_NO_WARM_UP if plan.warm_up_s else ""))
    except _NoneExists as why:
        return Equivalent(tool, "", str(why))


def _only_step(plan: Plan, tool: str) -> Step:
    if (tool != "httperf" or not has_calls(plan)) and plan.session != PLAIN_SESSION:
        raise _NoneExists("Not available for plans with sessions.")
    if len(plan.steps) > 1:
        raise _NoneExists(
            f"{tool} sends only one request, but this plan has {len(plan.steps)} steps."
        )
    return plan.steps[0]


def _keeps_connections(plan: Plan) -> bool:
    is_connection = plan.load.arrival_unit == ArrivalUnit.CONNECTION
    return plan.connection_mode == ConnectionMode.KEEP_ALIVE and not is_connection


def _n_connections(load: Load) -> int:
    return load.connections or 1


# --- ab ------------------------------------------------------------------------------------------
def _ab(plan: Plan) -> tuple[str, str]:
    step, load = _only_step(plan, "ab"), plan.load
    if load.model not in _CLOSED:
        raise _NoneExists(
            "ab has no request rate: it always waits for a reply before the next request."
        )
    if load.ramp_up_s:
        raise _NoneExists("ab has no ramp-up.")
    limit_s = ceil(plan.timeouts.total_s)
    # ab refuses more connections than requests; the surplus would never send anything.
    n_connections = min(_n_connections(load), load.requests or MAX_REQUESTS)
    stop = ["-n", str(load.requests)]
    if load.duration_s is not None:  # -t alone would mean -n 50000
        stop = ["-t", _whole_seconds("ab", load.duration_s), "-n", "100000000"]
    words = ["ab", *stop, "-c", str(n_connections), "-s", str(limit_s)]
    words += ["-k"] if _keeps_connections(plan) else []
    words += _ab_request(step)
    return " ".join([*words, shlex.quote(URL + step.path)]), (
        "It uses HTTP/1.0 and counts a reply of different length as failed."
        + _rounding(plan, limit_s)
    )


def _whole_seconds(tool: str, duration_s: float) -> str:
    if duration_s != int(duration_s):
        lasts = f"{duration_s:.15g} s"
        raise _NoneExists(f"{tool} only takes whole seconds, but this plan lasts {lasts}.")
    return f"{duration_s:.0f}"


def _rounding(plan: Plan, limit_s: int) -> str:
    """The difference if a limit had to be rounded."""
    exact_s = plan.timeouts.total_s
    return "" if exact_s == limit_s else f" Its limit is {limit_s} s, the plan's {exact_s:.15g} s."


def _ab_request(step: Step) -> list[str]:
    words = []
    kind = "application/octet-stream"
    for name, value in step.headers:
        if step.body and name.lower() == "content-type":
            kind = value
        else:
            words += ["-H", shlex.quote(f"{name}: {value}")]
    match step.method:
        case "POST" | "PUT" if step.body:
            flag = "-p" if step.method == "POST" else "-u"
            return [*words, flag, "body.txt", "-T", shlex.quote(kind)]
        case "HEAD":
            return [*words, "-i"]
        case "GET":
            return words
    if step.body:
        raise _NoneExists(f"ab sends no body with {step.method}.")
    return [*words, "-m", step.method]


# --- httperf -------------------------------------------------------------------------------------
def _httperf(plan: Plan) -> tuple[str, str]:
    step, load = _only_step(plan, "httperf"), plan.load
    if load.model == Model.CLOSED and _n_connections(load) > 1:
        raise _NoneExists(
            "httperf opens connections at a rate or one after another, not N at once "
            "(its --max-connections is for sessions)."
        )
    if step.body:
        raise _NoneExists("httperf can only send a body from a session log.")
    words = ["httperf", "--server", "HOST", "--port", "PORT", "--uri", shlex.quote(step.path)]
    if plan.http_version != HttpVersion.HTTP_1_1:
        # Tried with 0.9.0: of several calls all but the first are lost.
        if plan.session != PLAIN_SESSION or _keeps_connections(plan):
            raise _NoneExists("With HTTP/1.0, httperf sends one request per connection.")
        words += ["--http-version", "1.0"]
    words += ["--method", step.method] if step.method != "GET" else []
    for name, value in step.headers:
        words += ["--add-header", shlex.quote(f"{name}: {value}\\n")]
    words += _httperf_arrivals(plan)
    return " ".join([*words, "--timeout", f"{plan.timeouts.total_s:.15g}"]), (
        "Its timeout restarts with every progress. For HTTPS add --ssl."
    )


def _httperf_arrivals(plan: Plan) -> list[str]:
    load, requests = plan.load, plan.planned_requests
    if has_calls(plan):
        options = call_options(plan)
        if isinstance(options, str):
            raise _NoneExists(options)
        return [*options, *_httperf_rate(load)]
    is_kept = _keeps_connections(plan)
    if requests is None:
        raise _NoneExists("httperf stops after a number of connections, not after a time.")
    new = ["--num-conns", str(requests), "--num-calls", "1"]
    if load.model in _CLOSED:
        return ["--num-conns", "1", "--num-calls", str(requests)] if is_kept else new
    if is_kept:
        raise _NoneExists("With a rate, httperf opens a new connection for every request.")
    return [*new, *_httperf_rate(load)]


def _httperf_rate(load: Load) -> list[str]:
    if load.distribution == Distribution.UNIFORM:
        return ["--period", f"u{load.uniform_min_s or 0:.15g},{load.uniform_max_s:.15g}"]
    rate = mean_rate_per_s(load) if load.model == Model.OVER else load.rate_per_s
    if not rate:
        raise _NoneExists("httperf has a single rate for the whole run.")
    if load.distribution == Distribution.EXPONENTIAL:
        return ["--period", f"e{1 / rate:.15g}"]
    return ["--rate", f"{rate:.15g}"]


# --- wrk -----------------------------------------------------------------------------------------
def _wrk(plan: Plan) -> tuple[str, str]:
    step, load = _only_step(plan, "wrk"), plan.load
    if load.model not in _CLOSED:
        raise _NoneExists(
            "wrk has no request rate: it always waits for a reply before the next request."
        )
    if load.duration_s is None:
        raise _NoneExists("wrk stops after a time, not after a number of requests.")
    if step.method != "GET" or step.body:
        raise _NoneExists(f"wrk needs a Lua script to send {step.method}.")
    if load.ramp_up_s:
        raise _NoneExists("wrk has no ramp-up.")
    words = [
        "wrk",
        "-t1",
        f"-c{_n_connections(load)}",
        f"-d{_whole_seconds('wrk', load.duration_s)}s",
    ]
    limit_s = ceil(plan.timeouts.total_s)
    words += ["--latency", "--timeout", f"{limit_s}s"]
    headers = list(step.headers)
    if not _keeps_connections(plan):
        headers.append(("Connection", "close"))
    for name, value in headers:
        words += ["-H", shlex.quote(f"{name}: {value}")]
    return " ".join([*words, shlex.quote(URL + step.path)]), (
        "It resumes TLS sessions, and adds response times that it did not measure."
        + _rounding(plan, limit_s)
        + _other_version(plan)
    )


# --- k6 ------------------------------------------------------------------------------------------
def _k6(plan: Plan) -> tuple[str, str]:
    step = _only_step(plan, "A k6 scenario as short as this")
    if why_not := why_no_script(plan, step):
        raise _NoneExists(why_not)
    command, words = script(plan, step, URL + step.path, is_kept=_keeps_connections(plan))
    return command, words + _other_version(plan)


# --- HTTP/2 --------------------------------------------------------------------------------------
def _h2load(plan: Plan) -> tuple[str, str]:
    step, load = _only_step(plan, "h2load"), plan.load
    if load.model not in _CLOSED:
        raise _NoneExists("h2load sends at a rate of connections, not of requests.")
    if load.ramp_up_s:
        raise _NoneExists("h2load begins connections in groups, not one after the other.")
    if plan.connection_mode != ConnectionMode.KEEP_ALIVE:
        raise _NoneExists("h2load sends all requests on the connections that it began with.")
    if step.body:
        raise _NoneExists("h2load sends a body only from a file, with POST.")
    stop = ["-n", str(load.requests)]
    if load.duration_s is not None:
        stop = ["-D", _whole_seconds("h2load", load.duration_s)]
    # h2load refuses more connections than requests; the surplus would never send anything.
    n_connections = min(_n_connections(load), load.requests or MAX_REQUESTS)
    words = ["h2load", *stop, "-c", str(n_connections), "-m", str(plan.streams)]
    if step.method != "GET":
        words += ["-H", shlex.quote(f":method: {step.method}")]
    for name, value in step.headers:
        words += ["-H", shlex.quote(f"{name}: {value}")]
    return " ".join([*words, shlex.quote(URL + step.path)]), (
        "It has no time limit for a reply, and counts every 2xx and 3xx as right."
    )


def _other_version(plan: Plan) -> str:
    return " It uses HTTP/1.1." if plan.http_version != HttpVersion.HTTP_1_1 else ""


# Makes a command and what still differs; or says why there is none.
_Maker = Callable[[Plan], tuple[str, str]] | str
_TOOLS: dict[str, _Maker] = {"ab": _ab, "httperf": _httperf, "wrk": _wrk, "k6": _k6}
_TOOLS_OF_HTTP_2: dict[str, _Maker] = {
    "h2load": _h2load,
    "k6": "k6 uses HTTP/2 where HTTPS offers it, with as many streams as it likes.",
    **{tool: f"{tool} has no HTTP/2." for tool in ("ab", "httperf", "wrk")},
}


_HTTP_ONLY = "It only measures HTTP."
_K6 = (
    "No single command: k6 only opens WebSockets from a script, and times their opening together "
    "with TCP and TLS."
)
_WSPERF = (
    "Its values are per worker, as here per injector process. It closes with code 1001, verifies "
    "no certificates, has no time limits, and reports only opening handshakes, including failed "
    "ones."
)


def _why_not_wsperf(plan: Plan) -> str:
    exchange, load = plan.exchange, plan.load
    if load.model != Model.WINDOW or load.requests is None or load.hold != Hold.CLOSE:
        return "It opens a number of connections within a window and closes each one immediately."
    if exchange.talks:
        return "It opens and closes connections, but sends no messages."
    if exchange.deflate != Deflate.NONE:
        return "It does not compress."
    if exchange.headers or exchange.subprotocols or plan.auth.kind != AuthKind.NONE:
        return "It cannot send headers, subprotocols or credentials."
    if plan.connection_mode == ConnectionMode.RESUMED or plan.variable_names:
        return "It does not resume TLS sessions, and every connection opens the same address."
    return ""


# Beyond these, httperf exits immediately.
_MOST_CONNECTIONS, _MOST_PIPELINED = 4, 32


def has_calls(plan: Plan) -> bool:
    """Whether httperf can express the calls of the plan's arrivals."""
    return plan.load.arrival_unit != ArrivalUnit.REQUEST and plan.session != PLAIN_SESSION


def call_options(plan: Plan) -> list[str] | str:
    """The options, or a sentence that says why there are none."""
    session, n_arrivals = plan.session, planned_arrivals(plan.load)
    if plan.load.arrival_unit == ArrivalUnit.SESSION:
        return _why_no_session(plan) or [
            f"--wsess {n_arrivals},{session.calls_per_session},{session.think_time.mean_s:.15g}",
            f"--burst-length {session.burst_length}",
            f"--max-connections {session.connections_per_session or 1}",
            f"--max-piped-calls {session.pipeline_depth}",
            *(["--session-cookie"] if session.cookies else []),
        ]
    return _why_no_connection(plan) or [
        f"--num-conns {n_arrivals}",
        f"--num-calls {plan.calls_per_arrival}",
        *([f"--burst-length {session.burst_length}"] if session.burst_length > 1 else []),
    ]


def _why_no_session(plan: Plan) -> str:
    session = plan.session
    if plan.connection_mode != ConnectionMode.KEEP_ALIVE or session.calls_per_connection:
        return "httperf keeps a session's connections until the server closes them."
    if session.think_time.kind not in {ThinkKind.NONE, ThinkKind.CONSTANT}:
        return "httperf's sessions always pause for the same time."
    if session.burst_length > 1 and not session.first_call_alone:
        return "httperf sends the first request of a burst alone."
    if (session.connections_per_session or 1) > _MOST_CONNECTIONS:
        return f"httperf uses at most {_MOST_CONNECTIONS} connections per session."
    if session.pipeline_depth > _MOST_PIPELINED:
        return f"httperf pipelines at most {_MOST_PIPELINED} requests."
    if session.retry_on_failure:
        return "httperf retries forever, and only after one status."
    # Tried with 0.9.0: in either case it never ends.
    if session.calls_per_session % session.burst_length:
        return "httperf hangs if a session does not end with a whole burst."
    if session.burst_length - 1 > (session.connections_per_session or 1) * session.pipeline_depth:
        return (
            "httperf hangs if the rest of a burst does not fit into its connections and "
            "pipelines at once."
        )
    return ""


def _why_no_connection(plan: Plan) -> str:
    session = plan.session
    if session.cookies:
        return "httperf keeps cookies only in sessions."
    if session.think_time.kind != ThinkKind.NONE:
        return "httperf pauses only in sessions."
    is_whole_burst = session.pipeline_depth >= session.burst_length
    if session.burst_length > 1 and (session.first_call_alone or not is_whole_burst):
        return "httperf always pipelines whole bursts on a connection."
    if plan.calls_per_arrival % session.burst_length:
        return "httperf hangs if a connection does not end with a whole burst."
    return ""
