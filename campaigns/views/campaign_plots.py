"""What the charts of a campaign's page draw."""

from collections import Counter
from typing import Any

from campaigns.domain.shown.results import Answer


def _plots_of(answer: Answer) -> list[dict[str, Any]]:
    """One pair of charts per plan. Sweeps have their own curves: their many arms would be
    indistinguishable here."""
    swept = {sweep.plan_label for sweep in answer.sweeps}
    plans = dict.fromkeys(t.plan_label for t in answer.tests if t.plan_label not in swept)
    return [
        {"plan": plan, "index": index, "tests": [t for t in answer.tests if t.plan_label == plan]}
        for index, plan in enumerate(plans)
    ]


def drawn_plots(
    answer: Answer, drawn: dict[int, list], *, is_live: bool, is_only: bool
) -> list[dict[str, Any]]:
    """The plots that have, or will have, something to draw."""
    plots = []
    for plot in _plots_of(answer):
        has_means = any(mean is not None for test in plot["tests"] for mean in test.means_ms)
        has_curve = any(test.curve or drawn.get(test.test_id) for test in plot["tests"])
        if is_live or has_curve or has_means:
            plots.append({**plot, "has_blocks": has_means or (is_live and not is_only)})
    return plots


def arm_labels(answer: Answer) -> dict[int, str]:
    """A short label for each test; the long one where two of a plan would look the same."""
    short = {test.test_id: f"{test.scheme.upper()} {test.connection_mode}" for test in answer.tests}
    n_alike = Counter((test.plan_label, short[test.test_id]) for test in answer.tests)
    if max(n_alike.values(), default=0) < 2:
        return short
    return {test.test_id: test.label for test in answer.tests}


def plot_data(answer: Answer, repeats: int, drawn: dict[int, list]) -> dict[str, Any]:
    """`drawn`: the curve so far of a test's run, which is shown until the test has its own."""
    arms = arm_labels(answer)
    return {
        "repeats": repeats,
        "plans": [
            [
                {
                    "label": arms[test.test_id],
                    "scheme": test.scheme,
                    "mode": test.connection_mode,
                    "curve": test.curve or drawn.get(test.test_id, []),
                    "means": test.means_ms,
                    "texts": test.means_text,
                }
                for test in plot["tests"]
            ]
            for plot in _plots_of(answer)
        ],
    }
