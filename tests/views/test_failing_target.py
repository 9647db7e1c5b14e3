"""From real requests to the pages: a server that fails some of them is a result, and is not blamed
for an injector that got no CPU."""

import re
import signal
import time
from html import unescape
from itertools import count

import pytest
from django.urls import reverse

from campaigns.domain.analysis.blame import blame
from campaigns.domain.lifecycle import Outcome, Trust
from campaigns.domain.metrics.snapshot import Second
from tests.browser.conftest import NEVER_UNUSABLE
from tests.factories import make_campaign, make_plan, make_run, make_test, store_second
from tests.injector.program import OURS, Program, started
from tests.injector.servers import OK_REPLY, always, make_order, measure, scripted
from tests.queries.measured import end, end_shards
from tests.values import plan_spec
from tests.views.pages import html_of
from tests.waiting import eventually

pytestmark = pytest.mark.django_db
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
N_STOPS, STOPPED_S, BETWEEN_S = 4, 0.3, 0.3


@pytest.fixture(autouse=True)
def doubted_at_most(settings):
    """Of a busy machine's runs too there are figures."""
    settings.JUDGEMENT_LIMITS = NEVER_UNUSABLE


def finished(project, load: dict, seconds: list[Second], told: dict):
    """The only run of a finished campaign, with these seconds and this end."""
    campaign = make_campaign(project, repeats=1)
    run = make_run(make_test(campaign, make_plan(project, spec=plan_spec(**load))))
    for second in seconds:
        store_second(run, second)
    end_shards(run, last_second=max(each.second for each in seconds), end=told)
    run = end(run, Outcome.COMPLETE)
    campaign.started_at = campaign.finished_at = campaign.created_at
    campaign.save()
    return run


def verdict_of(page: str) -> str:
    section = re.search(r'<section[^>]* data-live="verdict">(.*?)</section>', page, re.DOTALL)[1]
    return " ".join(re.split(r"[ \n]+", unescape(re.sub("<[^>]+>", "", section)))).strip()


def badge_of(page: str) -> str:
    return re.search(r'class="badge".*?<span>([^<]+)</span>', page, re.DOTALL)[1]


def every_fifth_fails():
    numbers = count()

    def script(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(OK_REPLY if next(numbers) % 5 else BUSY)

    return script


def test_the_page_says_what_the_answers_are(viewer, project):
    load = {"model": "over", "requests": 300, "over_s": 2}
    with scripted(every_fifth_fails()) as server:
        result = measure(server.port, load=load)
    run = finished(project, load, result.seconds, result.ends[0].to_json())
    page = html_of(viewer, "run-detail", run.pk)
    said, judged = verdict_of(page), run.judged
    if run.trust == Trust.TRUSTED:
        assert said.startswith("20\u202f% failed with 503 Service Unavailable")
        assert badge_of(page) == "Complete, target failing"
    else:
        assert "The target was" not in said
        assert judged.reasons[0].text in said
    assert re.search("240 requests: p95 (± |between)", said)
    assert judged.notes[0].text in said
    rows = viewer.get(reverse("run-list", args=[project.pk]), {"precision": "coarse"})
    assert rows.content.decode().count("<tbody>") == 1


@pytest.fixture
def starved():
    """The seconds and the end of an injector that stood still for a third of its time."""
    load = {"model": "open", "rate_per_s": 50, "duration_s": 4}
    with scripted(always(OK_REPLY)) as server:
        injector = Program(started(OURS), make_order(server.port, load=load))
        injector.start()
        eventually(lambda: server.n_requests, 20, "it sends")
        for _ in range(N_STOPS):
            injector.process.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED_S)
            injector.process.send_signal(signal.SIGCONT)
            time.sleep(BETWEEN_S)
        (*seconds, told), _ = injector.rest()
    for pipe in (injector.process.stdin, injector.process.stdout, injector.process.stderr):
        pipe.close()
    return load, [Second.from_json(each) for each in seconds], told


def test_an_injector_that_got_no_cpu_is_doubted_and_the_target_is_not_blamed(
    viewer, project, starved
):
    run = finished(project, *starved)
    assert run.trust == Trust.DOUBTFUL
    assert {"own_time_p99", "lateness_p99"} & {reason.code for reason in run.judged.reasons}
    assert run.target_state == "healthy"
    pages = [
        html_of(viewer, "run-detail", run.pk),
        html_of(viewer, "campaign-detail", run.campaign_id),
    ]
    for page in pages:
        assert blame(run.judged).text in verdict_of(page)
        assert "The target was" not in verdict_of(page)
        assert "doubtful" in badge_of(page)
    rows = viewer.get(reverse("run-list", args=[project.pk]), {"measurement": "doubtful"})
    assert str(run.pk) in rows.content.decode()
