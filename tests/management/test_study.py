import pytest

from campaigns.domain.percentiles import P99, Shown, shown
from campaigns.management.study import make_sample

pytestmark = pytest.mark.django_db


def test_the_sample_measures_new_resumed_and_kept_connections_with_a_p99(as_alice):
    campaign = make_sample(as_alice, 8081, 8444)
    tests = list(campaign.tests.all())
    assert [(test.endpoint.scheme, test.connection_mode) for test in tests] == [
        ("http", "new"),
        ("http", "keep-alive"),
        ("https", "new"),
        ("https", "resumed"),
        ("https", "keep-alive"),
    ]
    assert campaign.repeats >= 3
    requests = tests[0].plan_version.value().planned_requests
    assert shown(requests, P99) is Shown.OK


def test_a_second_sample_reuses_project_target_and_plan(as_alice):
    first, second = (make_sample(as_alice, 8081, 8444) for _ in range(2))
    assert first.project == second.project
    rows = [
        [(test.plan_version_id, test.endpoint_id) for test in each.tests.all()]
        for each in (first, second)
    ]
    assert rows[0] == rows[1]
