"""What the target's machine did, on the seconds of the run."""

import pytest

from campaigns.domain.lifecycle import Outcome
from campaigns.models import MachineSecond
from tests.browser.installation import enter
from tests.browser.test_readouts import read
from tests.factories import make_campaign, make_plan, make_run, make_test, store_second
from tests.queries.measured import end, end_shards, responses_us
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS, RATE = 12, 50
SILENT = {5, 6}


@pytest.fixture
def run(project):
    """A run of twelve seconds, of which the agent told all but two."""
    spec = plan_spec(model="open", rate_per_s=RATE, duration_s=SECONDS)
    run = make_run(make_test(make_campaign(project), make_plan(project, spec=spec)))
    for second in range(SECONDS):
        vitals = {"cpu_share": 0.2 + second / 100}
        store_second(run, make_second(second, responses_us(10_000, RATE), vitals=vitals))
    end_shards(run, last_second=SECONDS - 1, end={"duration_us": SECONDS * 1_000_000})
    for second in sorted({*range(SECONDS)} - SILENT):
        store_machine_second(run, second)
    return end(run, Outcome.COMPLETE)


def store_machine_second(run, second: int) -> None:
    user_s = 0.1 + 0.1 * second
    did = {
        "user_s": user_s, "system_s": 0.3, "interrupts_s": 0.1, "stolen_s": 0,
        "idle_s": 3.6 - user_s, "cores": [40, 20, 20, 20],
        "memory_bytes": 8e9, "memory_used_bytes": 2e9 + second * 1e8,
        "received_bytes": 50_000 + 2000 * second, "sent_bytes": 290_000 + 10_000 * second,
        "retransmitted": second % 3, "listen_overflows": 4 * (second > 8),
        "processes": {"nginx": {"cpu_s": 0.6 * user_s}, ":8081,:8444": {"cpu_s": 0.3}},
    }  # fmt: skip
    busy_s = user_s + 0.4
    MachineSecond.objects.create(
        run=run, source="shop-1", second=second, lasted_s=1, busy_s=busy_s, watched_s=0.5, did=did
    )


def test_the_machines_panels_share_the_crosshair_of_the_run(served_tab, alice, run):
    enter(served_tab, "alice")
    served_tab.goto(f"/runs/{run.pk}/")
    said = read(served_tab, "[data-panel=response]", 200)
    told = served_tab.evaluate("JSON.parse(document.getElementById('machine').textContent)")
    nth = told["second"].index(int(said.split()[1]))
    injector = f"; injector {20 + told['second'][nth]}.0 % of a core"
    told["cpu_text"][nth] += injector
    for panel in ("cpu", "processes", "memory", "network", "trouble"):
        readout = served_tab.locator(f"[data-panel=machine-{panel}] .readout")
        assert readout.inner_text().split()[3:] == told[f"{panel}_text"][nth].split()
    assert served_tab.locator("[data-table=machine-shop-1] tbody tr").count() > 9
