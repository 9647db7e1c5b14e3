"""httperf's options for sessions that arrive, and for connections that make several calls."""

from campaigns.domain.plan.load import ArrivalUnit, planned_arrivals
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import PLAIN_SESSION, ThinkKind

# Beyond these, httperf exits immediately.
_MOST_CONNECTIONS, _MOST_PIPELINED = 4, 32


def has_calls(plan: Plan) -> bool:
    """Whether httperf can express the calls of the plan's arrivals."""
    return plan.load.arrival_unit != ArrivalUnit.REQUEST and plan.session != PLAIN_SESSION


def call_options(plan: Plan) -> list[str] | str:
    """The options, or a sentence that says why there are none."""
    if plan.load.arrival_unit == ArrivalUnit.SESSION:
        return _why_no_session(plan) or _session_options(plan)
    return _why_no_connection(plan) or _connection_options(plan)


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


def _session_options(plan: Plan) -> list[str]:
    session = plan.session
    counts = planned_arrivals(plan.load), session.calls_per_session
    return [
        f"--wsess {counts[0]},{counts[1]},{session.think_time.mean_s:.15g}",
        f"--burst-length {session.burst_length}",
        f"--max-connections {session.connections_per_session or 1}",
        f"--max-piped-calls {session.pipeline_depth}",
        *(["--session-cookie"] if session.cookies else []),
    ]


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


def _connection_options(plan: Plan) -> list[str]:
    session = plan.session
    burst = [f"--burst-length {session.burst_length}"] if session.burst_length > 1 else []
    calls = f"--num-calls {plan.calls_per_arrival}"
    return [f"--num-conns {planned_arrivals(plan.load)}", calls, *burst]
