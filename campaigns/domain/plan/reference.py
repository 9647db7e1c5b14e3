"""What a campaign sends to the installation's own target, to see whether the environment moved."""

from campaigns.domain.plan.plan import ConnectionMode, Plan

REFERENCE_NAME = "benchsite's own target"
REFERENCE_MODE = ConnectionMode.KEEP_ALIVE
# Enough requests for a p95, at a rate that leaves any machine idle.
REFERENCE_PLAN = Plan.from_json(
    {
        "steps": [{"method": "GET", "path": "/"}],
        "load": {"model": "open", "rate_per_s": 200, "duration_s": 3},
        "connection_mode": str(REFERENCE_MODE),
        "warm_up_s": 1,
    }
)
