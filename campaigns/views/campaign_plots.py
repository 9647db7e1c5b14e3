"""What the charts of a campaign's page draw."""

from collections import Counter
from typing import Any

from campaigns.domain.measured.percentile_curve import usual_points
from campaigns.domain.shown.results import Answer, TestAnswer
from campaigns.views.line_styles import line_style

_MOST_SMOOTH = 24  # curves of a page: of 200, all points would be 2 MB


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
    """The plots that have, or will have, something to draw. Of several targets each plan has the
    chart of its repeats alone, so that one page can show the plans side by side."""
    plots = []
    for plot in _plots_of(answer):
        has_means = any(mean is not None for test in plot["tests"] for mean in test.means_ms)
        has_curve = not answer.matrix and any(
            test.curve or drawn.get(test.test_id) for test in plot["tests"]
        )
        if is_live or has_curve or has_means:
            plots.append({**plot, "has_blocks": has_means or (is_live and not is_only)})
    return plots


def arm_labels(answer: Answer) -> dict[int, str]:
    """A short label for each test; the long one where two of a plan would look the same."""
    if answer.matrix:
        columns = answer.matrix.columns
        named = {pk: columns[number] for pk, number in answer.matrix.column_of.items()}
        return {test.test_id: named.get(test.test_id, test.label) for test in answer.tests}
    short = {test.test_id: f"{test.scheme.upper()} {test.connection_mode}" for test in answer.tests}
    n_alike = Counter((test.plan_label, short[test.test_id]) for test in answer.tests)
    if max(n_alike.values(), default=0) < 2:
        return short
    return {test.test_id: test.label for test in answer.tests}


def plot_data(answer: Answer, repeats: int, drawn: dict[int, list]) -> dict[str, Any]:
    """`drawn`: the curve so far of a test's run, which is shown until the test has its own.
    `shares_scale`: the charts of repeats have one logarithmic scale, as those of several targets.
    """
    arms = arm_labels(answer)
    return {
        "repeats": repeats,
        "shares_scale": answer.matrix is not None,
        "plans": [
            [_line(answer, test, arms[test.test_id], drawn) for test in plot["tests"]]
            for plot in _plots_of(answer)
        ],
    }


def _line(answer: Answer, test: TestAnswer, label: str, drawn: dict[int, list]) -> dict[str, Any]:
    line = {
        "label": label,
        "scheme": test.scheme,
        "mode": test.connection_mode,
        "means": test.means_ms,
        "texts": test.means_text,
    }
    if answer.matrix is None:
        curve = test.curve or drawn.get(test.test_id, [])
        is_smooth = len(answer.tests) <= _MOST_SMOOTH
        return {**line, "curve": curve if is_smooth else usual_points(curve)}
    style = line_style(answer.matrix.column_of.get(test.test_id, len(answer.matrix.columns)))
    look = {"token": style.token, "dash": style.dash, "shape": style.shape}
    return {**line, **look, "hollow": style.is_hollow, "apart": test.apart_ms, "curve": []}
