import pytest

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.queries.checks import perf_checks
from campaigns.domain.metrics.profiles import PerfOf, Profile, ProfiledFunction
from campaigns.machines.queries.machine_runs import machine_tables
from campaigns.machines.queries.target_costs import perf_counters
from campaigns.models import Campaign, Exporter, MachineSecond, Run, RunProfile
from tests.factories import make_endpoint, make_run, make_target, make_test
from tests.measured import https_campaign, measure, run_in_blocks

pytestmark = pytest.mark.django_db
CPU = {"user_s": 0.3, "system_s": 0.1, "interrupts_s": 0.0, "stolen_s": 0, "idle_s": 1.6}


def tell(run: Run, cycles: float, source: str = "shop-1", seconds: int = 10, **more) -> None:
    """So many cycles, and half as many instructions, in each second; no branches."""
    counts = {"cycles": [cycles, 100], "instructions": [cycles / 2, 100]}
    perf = {"of": "processes", "lasted_s": 1.0, "counts": counts}
    perf |= {"lacks": {"branches": "not supported"}, **more}
    MachineSecond.objects.bulk_create(
        MachineSecond(run=run, source=source, second=second, lasted_s=1, did={**CPU, "perf": perf})
        for second in range(seconds)
    )


def rows_of(table) -> dict[str, list]:
    return {row.label: [cell.value for cell in row.cells] for row in table.rows}


@pytest.fixture
def asked(campaign) -> Campaign:
    campaign.perf = "processes"
    campaign.save()
    return campaign


@pytest.fixture
def measured(project):
    """HTTP and HTTPS, three repeats of each, with counts."""
    campaign, tests = https_campaign(project, repeats=3, order="blocks", perf="processes")
    return campaign, run_in_blocks(tests, [[10_000] * 3, [20_000] * 3])


class TestBeforeTheStart:
    @pytest.fixture
    def endpoint(self, project):
        return make_endpoint(make_target(project, "shop"))

    def watch(self, endpoint, *offers: str) -> None:
        url = "http://127.0.0.1:9800/metrics"
        Exporter.objects.create(target=endpoint.target, name="shop-1", url=url, offers=offers)

    def test_a_target_on_which_nobody_runs_perf_is_said(self, endpoint):
        self.watch(endpoint, "CPU", "process nginx")
        (check,) = perf_checks([endpoint], "machine")
        assert check.shape == "warn"

    def test_an_agent_that_watches_no_process_can_count_the_machine_alone(self, endpoint):
        self.watch(endpoint, "CPU", "perf")
        assert len(list(perf_checks([endpoint], "processes"))) == 1
        assert not list(perf_checks([endpoint], "machine"))


class TestRun:
    @pytest.fixture
    def finished(self, asked):
        """Ten seconds with 200 ok requests each."""
        return measure(make_run(make_test(asked)), 10_000)

    def test_its_table_follows_those_of_the_machines(self, finished):
        tell(finished, 4e8)
        rows = rows_of(machine_tables(finished)[-1])
        assert rows["cycles, millions"] == [4000, 400, 2000]
        assert rows["instructions per cycle"][0] == 0.5
        assert rows["branches, millions"] == [None, None, None]


class TestCampaign:
    def counters(self, campaign):
        return perf_counters(campaign, campaign_answer(campaign))

    def test_http_is_beside_https_with_the_interval_of_the_ratio(self, measured):
        campaign, runs = measured
        for run in runs:
            times = 1.5 if run.test.endpoint.scheme == "https" else 1
            tell(run, (1e8 + 1e6 * run.repeat) * times)
        (table,) = self.counters(campaign).compared
        assert [column.title for column in table.columns[:2]] == ["HTTP", "HTTPS"]
        rows = rows_of(table)
        http, https, ratio, low, high = rows["cycles per 1,000 requests, millions"]
        assert (http, https) == (510, 765)
        assert ratio == pytest.approx(1.5, abs=0.001)
        assert low <= ratio <= high
        assert rows["instructions per cycle"][:2] == [0.5, 0.5]
        assert not any("branches" in label for label in rows)

    def test_several_machines_of_a_run_count_together(self, measured):
        campaign, runs = measured
        for source in ("shop-1", "shop-2"):
            tell(runs[0], 1e8, source)
        table = self.counters(campaign).means
        row = next(row for row in table.rows if row.label.startswith("cycles per 1,000"))
        assert [cell.value for cell in row.cells] == [1000, None, None, 1]


def test_a_run_s_page_has_the_profile_or_says_that_nobody_made_one(campaign):
    Campaign.objects.filter(pk=campaign.pk).update(profile=True)
    run = measure(make_run(make_test(campaign)), 10_000)
    told = {table.key: table for table in machine_tables(run)}
    assert "No agent reported a profile" in told["profile"].note
    functions = [ProfiledFunction(3, "nginx", "libssl.so.3", "encrypt")]
    profile = Profile(PerfOf.PROCESSES, 1.0, 9.0, 4, tuple(functions))
    RunProfile.objects.create(run=run, source="shop-1", data=profile.to_json())
    table = {table.key: table for table in machine_tables(run)}["profile-shop-1"]
    assert rows_of(table) == {"encrypt": [75.0, "nginx", "libssl.so.3", 3]}
