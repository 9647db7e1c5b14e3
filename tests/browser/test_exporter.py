"""An exporter is set on the page of its target, and the curves of a run are from it."""

import pytest
from playwright.sync_api import expect

from tests.injector.servers import scripted
from tests.workers.node_exporter import node_exporter


@pytest.fixture
def exporter_port():
    with scripted(node_exporter()) as server:
        yield server.port


def test_an_exporter_is_set_asked_and_read_on_the_runs_page(
    site, new_project, signed_in, exporter_port
):
    rest = new_project()
    (endpoint,) = rest.make_target(
        "shop", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    (target,) = rest.get(f"targets/?project={rest.project}")["results"]
    signed_in.goto(f"/targets/{target['id']}/")
    signed_in.get_by_role("link", name="Scrape a Prometheus exporter").click()
    signed_in.fill("#id_url", f"http://127.0.0.1:{exporter_port}")
    signed_in.fill("#id_name", "shop-1")
    signed_in.get_by_role("button", name="Save").click()
    row = signed_in.get_by_role("row").filter(has_text=f"http://127.0.0.1:{exporter_port}/metrics")
    expect(row).to_contain_text("shop-1")
    read_again_until(signed_in, row, "CPU, memory, network, loopback, TCP, disks, open files")

    plan = rest.make_plan("Steady", total_s=5.0, model="open", rate_per_s=40, duration_s=4)
    (run,) = rest.wait_for_state(rest.start("Watched", (plan, endpoint)), "done", 60)
    signed_in.goto(f"/runs/{run['id']}/")
    table = signed_in.locator("[data-table=machine-shop-1]")
    # The recorded machine has two cores, of which a quarter of one is busy.
    cpu = table.get_by_role("row").filter(has_text="CPU, % of 2 cores")
    expect(cpu).to_contain_text("12.5")
    expect(signed_in.locator("[data-panel=machine-cpu]")).to_be_visible()
    expect(signed_in.locator("[data-panel=machine-memory]")).to_be_visible()


def read_again_until(tab, row, text: str) -> None:
    """A worker answers in a moment; the page does not follow by itself."""
    for _ in range(20):
        if text in row.inner_text():
            return
        tab.wait_for_timeout(500)
        tab.reload()
    expect(row).to_contain_text(text)
