"""The same seconds give the same figures to the summary, the live page, the terminal and the
thresholds: whoever adds them, and in how many portions.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.analysis.thresholds import ThresholdJudge
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.injector_end import COMPLETE, InjectorEnd
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Timing, total_of
from campaigns.domain.plan.plan import Plan
from campaigns.models import Run
from campaigns.runs.queries.measurements import measurement_of, measurement_so_far
from campaigns.runs.queries.reports import run_report
from campaigns.runs.services import summarise_run
from tests.factories import (
    begin_run,
    begin_shards,
    make_campaign,
    make_plan,
    make_run,
    make_test,
    store_second,
)
from tests.values import make_second, plan_spec
from workers.injector.summary import LocalRun

N_SECONDS = 12
INJECTORS, STEPS = (0, 1), (0, 1)
RULES = [
    {"metric": "p95", "limit": 9, "unit": "ms"},
    {"metric": "rate", "limit": 70, "unit": "/s"},
    {"metric": "errors", "limit": 2, "unit": "%"},
]
PLAN = plan_spec(model="closed", connections=4, duration_s=N_SECONDS) | {
    "steps": [{"label": name, "method": "GET", "path": "/"} for name in ("look", "buy")],
    "warm_up_s": 2,
    "thresholds": RULES,
}
END = InjectorEnd(outcome=COMPLETE, duration_us=N_SECONDS * 1_000_000, sending_us=11_990_000)


def seen_by(injector: int, second: int, step: int):
    """Slower from second to second; some of it fails, and the second injector is the busier."""
    values = [5000 + 400 * second + 37 * nth + 900 * step for nth in range(20 + 3 * injector)]
    has_failed = second % 3 == 2
    vitals = {"cpu_share": 0.1 * (1 + injector) + 0.01 * second, "hub_lag_max_us": 90 * second}
    line = make_second(
        second,
        values,
        step=step,
        counters={"sessions_ok": 2} | ({"failed": 3, "dropped": 1} if has_failed else {}),
        errors={"reset": 3} if has_failed else {},
        in_flight=second % 5,
        vitals=None if step else vitals,
    )
    line.timings["failed"] = Timing.of([30_000] * 3 if has_failed else [])
    own_us = 30 * (1 + second % 4)
    line.timings["sampled"] = Timing.of([value + own_us for value in values])
    line.timings["undelayed"] = Timing.of(values)
    return line


ROWS = [
    (injector, seen_by(injector, second, step))
    for second in range(-2, N_SECONDS)
    for injector in INJECTORS
    for step in STEPS
]


@pytest.fixture
def run(project) -> Run:
    version = make_plan(project, spec=PLAN)
    run = make_run(make_test(make_campaign(project), version), n_shards=len(INJECTORS))
    begin_run(run, t0=timezone.now() - timedelta(seconds=60))
    begin_shards(run, host="inj-1")
    run.refresh_from_db()
    return run


def watch(run: Run) -> Measurement:
    """As a live page does: what has come is added, again and again."""
    measurement = None
    for portion in (ROWS[:20], ROWS[20:24], ROWS[24:]):
        for injector, second in portion:
            store_second(run, second, shard=injector)
        measurement = measurement_so_far(run, measurement)
    return measurement


def summarise(run: Run) -> Measurement:
    run.shards.update(state="done", last_second=N_SECONDS - 1, end=END.to_json())
    run.outcome = Outcome.COMPLETE
    summarise_run(run)
    Run.objects.filter(pk=run.pk).update(state="finalizing")
    Run.objects.filter(pk=run.pk).update(state="done", outcome=Outcome.COMPLETE)
    return measurement_of(Run.objects.get(pk=run.pk))


def figures_of(measurement: Measurement) -> dict:
    """All that a result is made of, except what only one of the readers knows."""
    vitals = [each | {"host": ""} for each in measurement.vitals]
    return measurement.to_json() | {
        "vitals": vitals,
        "figures": measurement.figures,
        "sent_per_s": measurement.sent_per_s,
        "in_flight": (measurement.mean_in_flight, measurement.most_in_flight),
        "by_second": (measurement.by_second("replies"), measurement.by_second("sessions")),
    }


def test_summary_live_page_terminal_and_thresholds_have_the_same_figures(run):
    live = watch(run)
    page = run_report(run, live)
    summary = summarise(run)
    at_terminal = LocalRun(run.frozen.plan, list(reversed(ROWS)), [END, END]).measurement
    assert figures_of(live) == figures_of(summary)
    assert figures_of(at_terminal) == figures_of(summary)
    assert live.warm_up == at_terminal.warm_up
    end_page = run_report(Run.objects.get(pk=run.pk))
    assert page.table == end_page.table
    assert page.parts == end_page.parts
    assert page.thresholds == end_page.thresholds


def test_the_thresholds_are_those_of_a_judge_that_looks_after_each_second(run):
    judge, plan = ThresholdJudge(run.frozen.plan.thresholds), run.frozen.plan
    so_far = [
        total_of(row for _, row in ROWS if 0 <= row.second <= second) for second in range(N_SECONDS)
    ]
    for second, total in enumerate(so_far):
        judge.look(second, [total], second + 1)
    live = watch(run)
    alone = judge.verdicts([live.total], float(N_SECONDS))
    assert [each.passed for each in alone] == [False, True, False]
    assert live.thresholds == alone
    assert LocalRun(plan, ROWS, [END, END]).measurement.thresholds == alone


def test_a_second_that_has_a_point_takes_nothing_more():
    measurement = Measurement(Plan.from_json(PLAN))
    measurement.add(seen_by(0, 4, 0))
    measurement.settle()
    for late in (4, 3):
        with pytest.raises(ValueError, match=f"Second {late}"):
            measurement.add(seen_by(0, late, 1))
