"""Plans read, and arrivals drawn, as many tests need them."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.arrivals import schedule
from campaigns.domain.plan.plan import Plan

STEP = {"method": "GET", "path": "/"}
CLOSED = {"model": "closed", "connections": 2, "requests": 10}


def read(**fields) -> Plan:
    """A plan of a step on two connections, but for what is given."""
    return Plan.from_json({"steps": [STEP], "load": CLOSED} | fields)


def faults(**fields) -> dict[str, str]:
    """What is wrong with such a plan, by field."""
    with pytest.raises(InvalidPlan) as refusal:
        read(**fields)
    return refusal.value.errors


def dues(load, **options) -> list[int]:
    """When each arrival of a load is due, in ns after the start."""
    return [due for _, due in schedule(load, **options)]
