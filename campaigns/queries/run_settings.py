"""What determines a run's results beside the target: what may differ between two runs."""

import hashlib
import json
from typing import Any

from campaigns.models import Run


def settings_of(run: Run) -> dict[str, Any]:
    """All that may differ between two runs beside their results, secrets as digests."""
    frozen = run.frozen
    return {
        "target": frozen.target,
        "plan name": frozen.plan_label,
        "connection mode": str(frozen.connection_mode),
        "injector processes": run.n_shards,
        "endpoint": frozen.endpoint.to_json(),
        "environment": dict(frozen.environment),
        "plan": _settled(frozen.plan_json),
    }


def _settled(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan; bodies, headers and tables, which may be secret or long, as size and digest."""
    steps = [
        {**step, "headers": _told_apart(step["headers"]), "body": _told_apart(step["body"])}
        for step in plan["steps"]
    ]
    exchange = plan.get("exchange")
    if exchange:
        exchange = {**exchange, "headers": _told_apart(exchange["headers"])}
    variables = plan.get("variables")
    if variables:
        variables = {**variables, "csv": _told_apart(variables["csv"])}
    apart = {"steps": steps, "exchange": exchange, "variables": variables}
    return {**plan, **apart, "connection_mode": None}


def _told_apart(value: Any) -> str:
    if not value:
        return ""
    text = json.dumps(value)
    return f"{len(text):,} characters, #{hashlib.sha256(text.encode()).hexdigest()[:8]}"
