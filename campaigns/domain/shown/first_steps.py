"""What the form of a new campaign says, also where there is nothing to tick yet."""

from campaigns.domain.shown.results import Sentence

_HINTS = {
    "https": "HTTP and HTTPS on new connections, resumed sessions and keep-alive, interleaved in "
    "counterbalanced blocks. You can change everything below.",
    "works": "One run on one endpoint: figures, but no comparison.",
}


def nothing_to_tick(*, has_arms: bool, has_plans: bool) -> Sentence:
    """Why the form of a new campaign has no cell to tick."""
    if not has_arms:
        what, why = "no target with an endpoint", " yet."
    elif not has_plans:
        what, why = "no plan", " yet."
    else:
        what = "no endpoint that fits its plans"
        why = ": WebSocket plans need a ws or wss endpoint, HTTP plans an http or https endpoint."
    start = "A campaign needs a plan and a target. This project has "
    return [(start, False), (what, True), (why, False)]


def question_hint(question: str) -> str:
    """What the form filled in for this question; "" is a campaign of one's own."""
    return _HINTS.get(question, "Tick what you want to compare.")
