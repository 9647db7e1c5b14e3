"""Writes the Authorization header. The secret comes with the order and is used nowhere else."""

import base64
from dataclasses import replace

from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import Auth, AuthKind
from campaigns.domain.plan.step import Step
from workers.injector.order import Refusal


def signed_steps(plan: Plan, secret: str) -> tuple[Step, ...]:
    """The plan's steps with their Authorization header. Raises Refusal without a usable secret."""
    headers = _headers(plan, secret)
    return tuple(replace(step, headers=(*step.headers, *headers)) for step in plan.steps)


def signed_exchange(plan: Plan, secret: str) -> Exchange:
    """The plan's exchange with its Authorization header. Raises Refusal as `signed_steps` does."""
    exchange = plan.exchange
    return replace(exchange, headers=(*exchange.headers, *_headers(plan, secret)))


def _headers(plan: Plan, secret: str) -> tuple[tuple[str, str], ...]:
    if plan.auth.kind == AuthKind.NONE:
        return ()
    if not secret:
        raise Refusal(
            "bad_order",
            "The plan sends credentials, but no secret is stored for it. Edit the plan and add it.",
        )
    return (("Authorization", _value(plan.auth, secret)),)


def _value(auth: Auth, secret: str) -> str:
    if auth.kind == AuthKind.BASIC:
        return "Basic " + base64.b64encode(f"{auth.user}:{secret}".encode()).decode()
    if not all("!" <= ch <= "~" for ch in secret):
        raise Refusal("bad_order", "A bearer token must be printable ASCII without spaces.")
    return f"Bearer {secret}"
