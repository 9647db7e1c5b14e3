"""Values of the domain with sensible defaults, for tests with and without a database."""

from functools import cache
from typing import Any

import numpy as np

from campaigns.domain.metrics.series import Point, point_of
from campaigns.domain.metrics.snapshot import PARTS, Second, Timing
from campaigns.domain.paste.reader import read_paste
from campaigns.domain.plan.typed_request import TypedRequest


def plan_spec(**load: Any) -> dict[str, Any]:
    """A plan's JSON: 100 POST requests over 10 s on new connections, or the load given."""
    return {
        "steps": [
            {"label": "add", "method": "POST", "path": "/", "headers": [], "body": "<soap/>"}
        ],
        "load": load or {"model": "over", "requests": 100, "over_s": 10},
        "connection_mode": "new",
    }


def make_second(
    second: int, responses_us: list[int] | None = None, step: int = 0, **fields
) -> Second:
    """A second in which these responses (µs) were ok: all of each was spent waiting."""
    values = np.array(responses_us or [], dtype=np.int64)
    timings = {
        "response": Timing.of(values),
        "service": Timing.of(values),
        "wait": Timing.of(values),
        **{part: Timing.of(np.zeros_like(values)) for part in PARTS if part in {"send", "receive"}},
    }
    statuses = {"200": len(values)} if len(values) else {}
    return Second(
        second=second,
        step=step,
        counters={"started": len(values), "ok": len(values), **fields.pop("counters", {})},
        timings={**timings, **fields.pop("timings", {})},
        **{"errors": {}, "statuses": statuses, "in_flight": 0, "vitals": None, **fields},
    )


def make_point(second: int, **fields: Any) -> Point:
    """A second with ten ok requests of about 10 ms."""
    return {**_a_point(), "second": second, **fields}


@cache
def _a_point() -> Point:
    return point_of(0, [(0, make_second(0, [10_000] * 10))], {0: None}, None)


def read_typed(text: str) -> TypedRequest:
    """The only request that was typed or pasted."""
    (request,) = read_paste(text).requests
    return request
