"""A plan's session and credentials in words, for its page."""

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import AuthKind, ThinkKind, ThinkTime
from campaigns.domain.shown.field_words import field_facts
from campaigns.domain.units import counted


def session_facts(plan: Plan, *, has_secret: bool) -> list[tuple[str, str]]:
    """[(name, words)] of what differs from plain requests."""
    session = plan.session
    facts = [
        *field_facts(session),
        ("Think time", _think_words(session.think_time, session.burst_length)),
        ("Bursts", _burst_words(plan)),
        ("Variables", _variable_words(plan)),
        ("Credentials", _auth_words(plan, has_secret=has_secret)),
    ]
    return [(name, words) for name, words in facts if words]


def _think_words(think: ThinkTime, burst_length: int) -> str:
    between = "between bursts" if burst_length > 1 else "between requests"
    match think.kind:
        case ThinkKind.CONSTANT:
            return f"{think.mean_s:g} s {between}"
        case ThinkKind.UNIFORM:
            return f"{think.min_s:g} to {think.max_s:g} s {between}, evenly spread"
        case ThinkKind.EXPONENTIAL:
            return f"{think.mean_s:g} s {between} on average, exponential"
    return ""


def _variable_words(plan: Plan) -> str:
    names, rows = plan.variables.table
    taken = [f"{each.name} from {step.label}" for step in plan.steps for each in step.extract]
    table = (
        f"{', '.join(names)}: {counted(len(rows), 'rows')}, {plan.variables.order}" if names else ""
    )
    return "; ".join(part for part in (table, *taken) if part)


def _burst_words(plan: Plan) -> str:
    session = plan.session
    if session.burst_length == 1:
        return ""
    alone = ", the first alone" if session.first_call_alone else ""
    return f"{session.burst_length:,} requests{alone}"


def _auth_words(plan: Plan, *, has_secret: bool) -> str:
    stored = "secret stored" if has_secret else "no secret stored yet; edit the plan to enter it"
    match plan.auth.kind:
        case AuthKind.BASIC:
            return f"user {plan.auth.user} and a password; {stored}"
        case AuthKind.BEARER:
            return f"bearer token; {stored}"
    return ""
