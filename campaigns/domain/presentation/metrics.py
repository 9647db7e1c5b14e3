"""The one registry of metrics: what each figure is called, its unit, how it is computed, and what
other tools call it. Pages, the REST interface, exports and help read it.
"""

from dataclasses import dataclass, field
from typing import Annotated

from campaigns.domain.presentation.tables import BOTH_ENDS, Column


@dataclass(frozen=True, slots=True)
class Metric:
    """`unit` is the one shown."""

    key: str
    title: str
    unit: str
    formula: str
    others: Annotated[dict[str, str], "A tool's name → its own name for this."] = field(
        default_factory=dict
    )

    def column(self, title: str = "", unit: str | None = None) -> Column:
        return Column(
            key=self.key,
            title=title or self.title,
            unit=self.unit if unit is None else unit,
            help=self.formula,
            is_text=self.key in _TEXT,
        )


_TEXT = {
    "word", "words", "why", "measurement", "target_state", "result", "kept", "status", "step",
    "shares",
}  # fmt: skip
_RESPONSE = "response time: from intended start to last byte, ok requests only"


def _percentile(name: str, q: str, **others: str) -> Metric:
    return Metric(
        name,
        name,
        "ms",
        f"The ⌈{q}·n⌉-th smallest {_RESPONSE}. Shown if at least ten requests are beyond it. "
        f"{BOTH_ENDS}",
        others,
    )


_ALL = (
    Metric(
        "mean",
        "average",
        "ms",
        f"Sum of the response times / n; {_RESPONSE}. Over repeats: the mean of the runs' means. "
        f"{BOTH_ENDS}",
        {"ab": "Total, mean", "JMeter": "Average", "k6": "http_req_duration avg", "wrk": "Avg"},
    ),
    Metric(
        "min",
        "min",
        "ms",
        f"The smallest {_RESPONSE}.",
        {"ab": "Total, min", "JMeter": "Min", "k6": "http_req_duration min"},
    ),
    Metric(
        "max",
        "max",
        "ms",
        f"The largest {_RESPONSE}. A single request; never averaged.",
        {"ab": "Total, max", "JMeter": "Max", "wrk": "Max", "k6": "http_req_duration max"},
    ),
    _percentile("p50", "0.5", ab="50%", JMeter="Median", wrk="50%", k6="med"),
    _percentile("p90", "0.9", ab="90%", JMeter="90% Line", wrk="90%", k6="p(90)"),
    _percentile("p95", "0.95", ab="95%", JMeter="95% Line", k6="p(95)"),
    _percentile("p99", "0.99", ab="99%", JMeter="99% Line", wrk="99%", k6="p(99)"),
    _percentile("p99.9", "0.999", wsperf="q99.9", k6="p(99.9)"),
    Metric(
        "rate",
        "ok requests/s",
        "",
        "Ok requests that ended in the measured time / its seconds; in a line over time those that "
        "ended in that second.",
        {"ab": "Requests per second (counts failed ones too)", "httperf": "Request rate"},
    ),
    Metric(
        "duration",
        "time",
        "s",
        "The measured time: to the planned end, or to the last request's end if that is earlier. "
        "A number of requests ends when nine of ten have ended, so one below ten with the last.",
        {"ab": "Time taken for tests", "httperf": "test-duration"},
    ),
    Metric(
        "errors",
        "errors",
        "",
        "Requests that failed or were dropped; each counts as one kind.",
        {"ab": "Failed requests", "httperf": "Errors: total", "JMeter": "Error %"},
    ),
    Metric(
        "interval",
        "between ends",
        "ms",
        "Measured seconds / ok requests: the mean time from one end to the next. With k clients it "
        "is about a k-th of the response time.",
        {"ab": "Time per request, across all", "Uniserve": "Temps moy.", "httperf": "ms/req"},
    ),
    Metric("speed_up", "speed-up", "", "Ok requests/s divided by those with the fewest processes."),
    Metric("completed", "completed", "", "Ok + failed requests; dropped ones were never sent."),
    Metric(
        "measurement",
        "measurement",
        "",
        "Can it be trusted? trusted, busy (the median without the injector's part can) or no "
        "answer; the best of several runs.",
    ),
    Metric(
        "target_state",
        "target",
        "",
        "Its worst state in any of the runs: healthy, changing, overloaded or failing.",
    ),
    Metric("begins", "begins", "s", "Seconds after the start of the measurement."),
    Metric("shares", "shares", "of each process", "A process's requests / those of the phase."),
    Metric(
        "request", "request", "", "The how many-th its injector process began, without the warm-up."
    ),
    Metric("error_share", "errors", "%", "Errors / (ok + errors)."),
    Metric("n", "n", "", "Successful requests; only these have a response time."),
    Metric("http", "HTTP", "ms", "The figure over HTTP."),
    Metric("https", "HTTPS", "ms", "The figure over HTTPS."),
    Metric("baseline", "baseline", "", "The figure of the baseline run."),
    Metric("candidate", "candidate", "", "The figure of the candidate run."),
    Metric("difference", "difference", "ms", "HTTPS − HTTP, from unrounded figures."),
    Metric(
        "ratio",
        "ratio",
        "",
        "HTTPS / HTTP: the centre of the rounds, or over repeats the geometric mean.",
    ),
    Metric("low", "from", "", "Lower end: 99 % interval over rounds, 95 % over repeats."),
    Metric("high", "to", "", "Upper end: 99 % interval over rounds, 95 % over repeats."),
    Metric(
        "increase",
        "increase",
        "% of HTTP",
        "(HTTPS − HTTP) / HTTP, ratio − 1: how much longer HTTPS takes than HTTP.",
    ),
    Metric(
        "share",
        "share",
        "% of HTTPS",
        "(HTTPS − HTTP) / HTTPS: the part of the HTTPS time that is overhead.",
    ),
    Metric("word", "verdict", "", "For the first row only, from three repeats or 16 rounds on."),
    Metric("why", "why", "", "Why there is no verdict, or what would settle it."),
    Metric(
        "could_have_shown",
        "smallest detectable change",
        "%",
        "The smallest difference that these runs would have shown in 80 % of cases.",
    ),
    Metric("runs_baseline", "runs", "baseline", "Runs of the baseline that count."),
    Metric("runs_candidate", "runs", "candidate", "Runs of the candidate that count."),
    Metric(
        "redirects",
        "redirects",
        "ms",
        "All requests before the last one, where redirects are followed. The other parts are those "
        "of the last one.",
    ),
    Metric("dns", "dns", "ms", "Resolving the host name."),
    Metric("connect", "connect", "ms", "The TCP handshake.", {"ab": "Connect (with TLS)"}),
    Metric("tls", "tls", "ms", "The TLS handshake.", {"k6": "http_req_tls_handshaking"}),
    Metric("send", "send", "ms", "Writing the request.", {"k6": "http_req_sending"}),
    Metric(
        "wait",
        "wait",
        "ms",
        "From the request's last byte written to the reply's first byte.",
        {"ab": "Waiting", "k6": "http_req_waiting", "JMeter": "Latency (with connect)"},
    ),
    Metric("receive", "receive", "ms", "From the reply's first byte to its last."),
    Metric(
        "handshake",
        "handshake",
        "ms",
        "The WebSocket's opening handshake: from the connection being ready to the 101 received.",
        {"wsperf": "open", "k6": "ws_connecting (with TCP and TLS)"},
    ),
    Metric("exchange", "exchange", "ms", "All messages of a connection, counted from its opening."),
    Metric(
        "close",
        "close",
        "ms",
        "The closing handshake: from our close frame to the end of the connection.",
        {"wsperf": "close"},
    ),
    Metric(
        "message",
        "message",
        "ms",
        "Round trip of a message: from sending it, or its due time at a message rate, to the "
        "whole echo.",
    ),
    Metric("opened", "opened", "", "WebSockets whose opening handshake succeeded."),
    Metric("most_open", "open at once", "", "Maximum at the end of a second, in one run."),
    Metric(
        "messages_per_s",
        "messages/s",
        "",
        "In the busier direction; a message and its echo count once.",
    ),
    Metric("per_second", "per second", "", "Count per second of the measurement."),
    Metric(
        "lateness", "lateness", "ms", "Actual start − intended start: how late the injector sent."
    ),
    Metric("response", "response", "ms", "Last byte − intended start; the time that tables show."),
    Metric("service", "service", "ms", "Last byte − actual start.", {"ab": "Total"}),
    Metric(
        "undelayed",
        "without the injector's part",
        "ms",
        "Response times without what the injector added: how late it sent, and how long it left "
        "the reply unread. Of the requests whose reading was timed.",
    ),
    Metric(
        "typical",
        "median without the injector's part",
        "ms",
        "The median of the response times without what the injector added. It stays good on a busy "
        "machine.",
    ),
    Metric("count", "count", "", "How many."),
    Metric("measured", "measured", "", "The figure over the whole run, in the unit of the rule."),
    Metric("limit", "limit", "", "What the rule allows."),
    Metric("result", "result", "", "Passed if the rule holds at the end."),
    Metric("since", "since", "s", "The second from which on the rule was broken until the end."),
    Metric("kept", "kept by", "", "How many of the finished runs pass the rule."),
    Metric(
        "worst", "worst", "", "The figure of the run that is closest to the limit, or exceeds it."
    ),
    Metric("share_of_opened", "share", "% of opened", "Count / all WebSockets that were opened."),
    Metric(
        "session",
        "ok sessions",
        "ms",
        "From a session's due time to its end, with pauses and waiting; all its requests ok.",
        {"httperf": "Session lifetime"},
    ),
    Metric(
        "session_failed",
        "failed sessions",
        "ms",
        "From a session's due time to its end; a failed request ended it.",
        {"httperf": "Session failtime"},
    ),
    Metric("share_of_sessions", "share", "% of sessions", "Count / all sessions that ended."),
    Metric("share_of_requests", "share of requests", "%", "Count / all requests that ended."),
    Metric("status", "status", "", "The reply's status; a dash without a whole reply."),
    Metric("step", "step", "", "The plan's step."),
    Metric(
        "reply_p50",
        "reply p50",
        "ms",
        "Response time of the failed replies, kept apart from the times of ok ones.",
    ),
    Metric("words", "what it means", "", "The kind of error, or the code, in plain words."),
    Metric("first", "first seen", "s", "Second of the run in which it first occurred."),
    Metric("last", "last seen", "s", "Second of the run in which it last occurred."),
)

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ALL}

# Where a sentence takes a time, by the metric that it compares.
WHERE = {
    "mean": "on average",
    "p50": "at the median",
    "typical": "at the median without the injector's part",
}
# What pages call some of those by which programs ask for an answer.
ALSO_CALLED = {"average": "mean", "median": "typical"}
