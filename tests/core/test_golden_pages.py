"""The figures of pages and files are those that are stored: of a campaign like the sample, of a run
with several injectors, steps, a warm-up and failures, and of one as large as runs become: 10⁹
requests, of whose hour and more the charts get a thousand points.

Where a figure is meant to change: what was seen is in var/golden, and goes to tests/golden/pages.
"""

import difflib
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse

from campaigns.domain.lifecycle import Outcome
from campaigns.domain.metrics.series import pack
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.other_tools.reports import styles_for
from campaigns.models import Campaign, Run, RunSummary, ShardSecond
from campaigns.runs.services import keep_figures
from tests.factories import make_campaign, make_endpoint, make_plan, make_run, make_target
from tests.factories import make_test as make_test_row
from tests.figures_on_pages import figures_of
from tests.measured import end, end_shards, run_in_blocks
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db
GOLDEN = Path(__file__).parents[1] / "golden" / "pages"
AT = datetime(2026, 11, 2, 3, 0, tzinfo=UTC)
INJECTORS, STEPS, WARM_UP_S, SECONDS = 3, 4, 2, 24
# Of the largest run. Each second has one step, and all but the first injector end after a minute.
LARGEST_S, LARGEST_STEPS, LARGEST_INJECTORS, ALONE_FROM_S = 3720, 10, 4, 60
DOUBLED = 13  # times: a second has 294,912 requests
VITALS = {"cpu_share": 0.21, "hub_lag_max_us": 1234, "rss_bytes": 41_234_567}


def past_campaign(
    project, number: int, name: str, version, ends, modes, *, repeats: int, days: int
):
    """A campaign with a number that is always the same, and its tests."""
    at = AT + timedelta(days=days)
    fields = {"id": number, "repeats": repeats, "started_at": at}
    campaign = make_campaign(project, name, **fields, finished_at=at + timedelta(hours=1))
    tests = [
        make_test_row(campaign, version, endpoint=e, connection_mode=m)
        for e, m in zip(ends, modes, strict=True)
    ]
    return campaign, tests


@pytest.fixture
def sample(project) -> list[Campaign]:
    """HTTP and HTTPS on new and on kept connections in three blocks, twice."""
    spec = plan_spec(model="over", requests=2000, over_s=10)
    version = make_plan(project, "demo plan", spec)
    target = make_target(project, "demo target")
    ends = [make_endpoint(target, "http"), make_endpoint(target, "https")] * 2
    modes = ["new", "new", "keep-alive", "keep-alive"]
    campaigns = []
    for nth, faster in enumerate((1.0, 0.9)):
        args = (project, 987_001 + nth, f"sample {nth}", version, ends, modes)
        campaign, tests = past_campaign(*args, repeats=3, days=nth)
        means = [[12_000, 12_300, 12_100], [21_500, 22_100, 21_900], [8000, 8100, 8050]]
        means += [[12_900, 13_050, 13_000]]
        run_in_blocks(tests, [[round(faster * each) for each in of] for of in means])
        settle(campaign)
        campaigns.append(campaign)
    return campaigns


@pytest.fixture
def large(project) -> Run:
    """A run whose seconds all differ."""
    steps = [{"label": f"step {n}", "method": "GET", "path": f"/{n}"} for n in range(STEPS)]
    rules = [{"metric": "p95", "limit": 30, "unit": "ms"}]
    spec = plan_spec(model="closed", connections=12, duration_s=SECONDS)
    spec |= {"steps": steps, "thresholds": rules, "warm_up_s": WARM_UP_S}
    version = make_plan(project, "large plan", spec)
    end_of_it = make_endpoint(make_target(project, "large target"))
    args = (project, 987_011, "large", version, [end_of_it], ["keep-alive"])
    campaign, (test,) = past_campaign(*args, repeats=1, days=3)
    run = make_run(test, n_shards=INJECTORS)
    places = [
        (at, shard, step)
        for at in range(-WARM_UP_S, SECONDS)
        for shard in range(INJECTORS)
        for step in range(STEPS)
    ]
    ShardSecond.objects.bulk_create(
        ShardSecond.of(second_at(*place).to_json(), run_id=run.pk, shard=place[1], epoch=1)
        for place in places
    )
    end_shards(run, last_second=SECONDS - 1, end={"duration_us": SECONDS * 1_000_000})
    end(run, Outcome.COMPLETE)
    settle(campaign)
    return Run.objects.get(pk=run.pk)


def second_at(second: int, shard: int, step: int):
    """Slower from step to step, with a peak in the middle, after which some requests fail."""
    peak = 9000 if SECONDS // 2 <= second < SECONDS // 2 + 3 else 0
    base = 4000 + 3000 * step + 250 * shard + 37 * second + peak
    values = [base + (nth * nth * 53) % 2900 for nth in range(30 + 5 * step)]
    failed = 2 if peak and step == STEPS - 1 else 0
    fields = {"counters": {"failed": failed, "bytes_received": 4075 * len(values)}}
    if failed:
        fields |= {"errors": {"reset": failed}, "timings": {"failed": Timing.of([30_000] * failed)}}
    if not step:
        fields["vitals"] = VITALS | {"cpu_share": 0.2 + 0.001 * second + 0.01 * shard}
    return make_second(second, values, step=step, in_flight=step, **fields)


@pytest.fixture
def largest(project) -> Run:
    """As it is stored after more than an hour. Its seconds are copies of fifty."""
    steps = [{"label": f"step {n}", "method": "GET", "path": f"/{n}"} for n in range(LARGEST_STEPS)]
    spec = plan_spec(model="closed", connections=400, duration_s=LARGEST_S)
    version = make_plan(project, "largest plan", spec | {"steps": steps})
    end_of_it = make_endpoint(make_target(project, "largest target"), "https")
    args = (project, 987_021, "largest", version, [end_of_it], ["keep-alive"])
    campaign, (test,) = past_campaign(*args, repeats=1, days=5)
    run = make_run(test, n_shards=LARGEST_INJECTORS)
    ShardSecond.objects.bulk_create(
        ShardSecond(run=run, shard=shard, second=second, epoch=1, **seen_often(second))
        for second in range(LARGEST_S)
        for shard in range(LARGEST_INJECTORS if second < ALONE_FROM_S else 1)
    )
    end_shards(run, last_second=LARGEST_S - 1, end={"duration_us": LARGEST_S * 1_000_000})
    run.shards.exclude(number=0).update(last_second=ALONE_FROM_S - 1)
    end(run, Outcome.COMPLETE)
    settle(campaign)
    return Run.objects.get(pk=run.pk)


def seen_often(second: int) -> dict[str, Any]:
    """A step in turn, slower from quarter of an hour to quarter; then some requests fail."""
    step, quarter = second % LARGEST_STEPS, second // 900
    return {"step": step, "packed": packed_often(step, quarter)}


@cache
def packed_often(step: int, quarter: int) -> bytes:
    values = [3000 + 1500 * step + 700 * quarter + (nth * nth * 53) % 2900 for nth in range(36)]
    failed = 40 if quarter == 4 else 0
    line = make_second(0, values, step=step, in_flight=400).to_json()
    n = len(values) << DOUBLED
    counts = {"started": n + failed, "ok": n, "failed": failed, "bytes_received": 4075 * n}
    often = {name: multiply(Timing.from_json(each)) for name, each in line["timings"].items()}
    more = {"failed": Timing.of([30_000] * failed)} if failed else {}
    return pack(
        line
        | {
            "counters": counts,
            "statuses": {"200": n},
            "errors": {"reset": failed} if failed else {},
        }
        | {"timings": {name: each.to_json() for name, each in (often | more).items()}}
        | {"vitals": VITALS | {"cpu_share": 0.5 + 0.1 * quarter}}
    )


def multiply(timing: Timing) -> Timing:
    for _ in range(DOUBLED):
        timing = timing.merged(timing)
    return timing


def settle(campaign: Campaign) -> None:
    """What the engine keeps of a campaign that has ended; its times do not depend on the clock."""
    for run in campaign.runs.all():
        t0 = campaign.started_at + timedelta(minutes=run.position)
        Run.objects.filter(pk=run.pk).update(t0=t0, ended_at=t0 + timedelta(seconds=30))
    keep_figures(test.pk for test in campaign.tests.all())


def check(**texts: str) -> None:
    """Each is as stored; what is not is said of all of them."""
    files = {f"{name.replace('_', '-')}.txt": text for name, text in texts.items()}
    differing = [difference for each in files.items() if (difference := difference_of(*each))]
    if differing:
        pytest.fail("Other figures than before:\n" + "\n".join(differing), pytrace=False)


def excerpt(text: str, whole: int = 100, each: int = 60) -> str:
    """The first lines, every so many of the rest, and a digest of all."""
    lines = text.splitlines()
    digest = hashlib.sha256(text.encode()).hexdigest()
    return "\n".join([*lines[:whole], *lines[whole::each], f"{len(lines)} lines, {digest}"]) + "\n"


def difference_of(name: str, text: str) -> str:
    path = GOLDEN / name
    golden = path.read_text() if path.exists() else ""
    if text == golden:
        return ""
    folder = settings.BASE_DIR / "var" / "golden"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    lines = difflib.unified_diff(golden.splitlines(), text.splitlines(), lineterm="", n=0)
    return "\n".join([name, *lines][:30])


@pytest.fixture
def text_at(client, alice) -> Callable[..., str]:
    client.force_login(alice)

    def read(name: str, *args: int, query: str = "") -> str:
        answer = client.get(reverse(name, args=args) + query)
        assert answer.status_code == 200
        text = b"".join(answer).decode()
        is_page = answer["Content-Type"].startswith("text/html")
        return figures_of(text) if is_page else text.replace("\r\n", "\n")

    return read


def reports_of(run: Run, text_at: Callable[..., str]) -> str:
    """In the style of each tool, as they are."""
    styles = styles_for(run.frozen.plan)
    texts = [text_at("run-report-text", run.pk, query=f"?style={style}") for style in styles]
    return "".join(f"= {each}\n{text}" for each, text in zip(styles, texts, strict=True))


def test_a_campaign_like_the_sample(sample, text_at):
    earlier, later = sample
    test, run = later.tests.first(), later.runs.order_by("position").last()
    query = f"?a=campaign-{earlier.pk}&b=campaign-{later.pk}"
    check(
        sample_campaign=text_at("campaign-detail", later.pk),
        sample_campaign_tables=text_at("campaign-csv", later.pk, query="?format=blocks"),
        sample_campaigns=text_at("campaign-list", later.project_id),
        sample_run=text_at("run-detail", run.pk),
        sample_run_reports=reports_of(run, text_at),
        sample_history=text_at("history-test", test.pk),
        sample_comparison=text_at("comparison", query=query),
    )


def test_a_run_of_several_injectors_and_steps(large, text_at):
    check(
        large_run=text_at("run-detail", large.pk),
        large_run_reports=reports_of(large, text_at),
        large_run_tables=text_at("run-csv", large.pk),
        large_run_seconds=text_at("run-seconds-csv", large.pk),
        large_campaign=text_at("campaign-detail", large.campaign_id),
    )


@pytest.mark.long
def test_a_run_of_a_billion_requests_and_more_than_an_hour(largest, text_at):
    assert largest.n >= 10**9
    assert len(RunSummary.objects.get(run=largest).chunks) == 2
    page = text_at("run-detail", largest.pk)
    assert 300 < page.count('{"second"') <= 1000
    check(
        largest_run=excerpt(page),
        largest_run_tables=text_at("run-csv", largest.pk),
        largest_run_seconds=excerpt(text_at("run-seconds-csv", largest.pk)),
    )
