"""Writes the Authorization header. The secret comes with the order and goes nowhere else."""

import base64
from dataclasses import replace

from campaigns.domain.plan import Plan, Step
from campaigns.domain.session import Auth, AuthKind
from workers.injector.order import Refusal


def signed_steps(plan: Plan, secret: str) -> tuple[Step, ...]:
    """The plan's steps with their Authorization header. Raises Refusal without a usable secret."""
    if plan.auth.kind == AuthKind.NONE:
        return plan.steps
    if not secret:
        raise Refusal(
            "bad_order",
            "The plan sends credentials, but no secret is stored for it. Enter it on the plan.",
        )
    header = ("Authorization", _value(plan.auth, secret))
    return tuple(replace(step, headers=(*step.headers, header)) for step in plan.steps)


def _value(auth: Auth, secret: str) -> str:
    if auth.kind == AuthKind.BASIC:
        return "Basic " + base64.b64encode(f"{auth.user}:{secret}".encode()).decode()
    if not all("!" <= ch <= "~" for ch in secret):
        raise Refusal("bad_order", "A bearer token is printable ASCII without spaces.")
    return f"Bearer {secret}"
