"""The questions that a click or two answer about a target, and the campaign behind each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from campaigns.domain.plan.plan import ConnectionMode, Plan


@dataclass(frozen=True, slots=True)
class Question:
    """`load` and `modes` make the plan and its arms. `repeats`: None for arms side by side.

    `compares_schemes`: it needs HTTP and HTTPS. `is_search`: it searches for a capacity, on one
    endpoint, HTTPS if there is one. `is_ladder`: the HTTPS endpoint is the one whose layers are
    measured. The forms of both are shown before they start.
    """

    key: str
    title: str
    words: str
    plan_name: str
    load: Mapping[str, Any]
    modes: tuple[ConnectionMode, ...]
    repeats: int | None = None
    warm_up_s: int = 0
    pause_s: float = 0
    compares_schemes: bool = False
    is_search: bool = False
    is_ladder: bool = False

    @property
    def has_form(self) -> bool:
        return self.is_search or self.is_ladder

    def spec(
        self,
        step: Mapping[str, Any],
        auth: Mapping[str, str],
        http_version: str = "",
        redirects: str = "",
    ) -> dict[str, Any]:
        """The plan that sends this request. `http_version`: "" for the usual one, which is
        compared over both schemes, too; `redirects`: "" where none is followed. Raises
        InvalidPlan."""
        # HTTP that redirects to HTTPS would be compared with itself.
        redirects = "same_origin" if redirects and self.compares_schemes else redirects
        plan = {
            "steps": [dict(step)],
            "load": dict(self.load),
            "connection_mode": str(self.modes[0]),
            "warm_up_s": self.warm_up_s,
            "auth": dict(auth),
            **(
                {"http_version": http_version} if http_version and not self.compares_schemes else {}
            ),
            **({"redirects": redirects} if redirects else {}),
        }
        return Plan.from_json(plan).to_json()

    def arms(self, schemes: Sequence[str]) -> list[tuple[str, ConnectionMode]]:
        """(scheme, mode) of each test on the endpoints that answer; [] if it cannot be asked."""
        if not schemes or (self.compares_schemes and len(set(schemes)) < 2):
            return []
        one = "https" if "https" in schemes else "http"
        scheme_names = [one] if self.has_form else sorted(schemes)
        return [
            (scheme, mode)
            for scheme in scheme_names
            for mode in self.modes
            if scheme == "https" or mode != ConnectionMode.RESUMED
        ]


_NEW, _RESUMED, _KEPT = ConnectionMode.NEW, ConnectionMode.RESUMED, ConnectionMode.KEEP_ALIVE

QUESTIONS: dict[str, Question] = {
    question.key: question
    for question in (
        Question(
            "works",
            "Does it work?",
            "20 requests one after another over each endpoint. Says what failed, if anything did.",
            "Does it work",
            {"model": "sequential", "requests": 20},
            (_KEPT,),
            repeats=1,
        ),
        Question(
            "https",
            "What does HTTPS cost?",
            "HTTP and HTTPS on new, resumed and kept connections, side by side, so that both meet "
            "the same conditions.",
            "HTTPS cost",
            {"model": "open", "rate_per_s": 50, "duration_s": 12},
            (_NEW, _RESUMED, _KEPT),
            warm_up_s=1,
            pause_s=1,
            compares_schemes=True,
        ),
        Question(
            "layers",
            "What does each layer cost?",
            "From HTTP over TLS 1.2 and 1.3, hybrid keys and resumed sessions to HTTP/2: each rung "
            "against the one before and against plain HTTP.",
            "Layers",
            {"model": "open", "rate_per_s": 50, "requests": 600},
            (_NEW,),
            warm_up_s=1,
            pause_s=1,
            compares_schemes=True,
            is_ladder=True,
        ),
        Question(
            "limit",
            "How much can it handle?",
            "Finds the highest request rate that keeps an objective, such as p95 under 500 ms. "
            "Gives its interval.",
            "Capacity",
            {"model": "open", "rate_per_s": 10, "duration_s": 20},
            (_KEPT,),
            repeats=1,
            warm_up_s=5,
            is_search=True,
        ),
    )
}


def recommended(schemes: Sequence[str]) -> str:
    """The key of the question to ask first; "" if nothing answers."""
    if not schemes:
        return ""
    return "https" if len(set(schemes)) > 1 else "works"
