"""A campaign whose plan follows redirects, from the launcher to the run's page."""

import pytest
from django.urls import reverse

from campaigns.models import RunSummary
from tests.injector.servers import scripted
from tests.injector.test_redirects import routes, to
from tests.workers.launching import done
from tests.workers.test_other_injector import CLOSED, started_run
from workers import launcher

pytestmark = pytest.mark.django_db(transaction=True)


def test_redirects_to_another_origin_stand_on_the_run_s_page(
    project, dispatcher, client, bob, settings, tmp_path
):
    settings.SPOOL_DIR = tmp_path
    settings.ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with scripted(routes({})) as other:
        reply = to(f"http://127.0.0.1:{other.port}/b")
        with scripted(routes({"/": reply})) as server:
            plan = {"steps": [{"path": "/"}], "redirects": "all"}
            run = started_run(project, server.port, plan=plan, **CLOSED)
            launcher.launch_one(worker="w", host="host 1")
            done(run, 30)
    assert (run.outcome, server.n_requests, other.n_requests) == ("complete", 41, 41)
    total = RunSummary.objects.get(run=run).total
    assert (total.count("ok"), total.count("redirects"), total.errors) == (41, 41, {})
    client.force_login(bob)
    page = client.get(reverse("run-detail", args=[run.pk])).content.decode()
    assert "1.00 redirects on average; 41 of 41 ok had any." in page
