import pytest

from campaigns.management.study import make_sample

pytestmark = pytest.mark.django_db


def test_the_sample_measures_new_resumed_and_kept_connections_side_by_side(as_alice):
    campaign = make_sample(as_alice, 8081, 8444)
    tests = list(campaign.tests.all())
    assert [(test.endpoint.scheme, test.connection_mode) for test in tests] == [
        ("http", "new"),
        ("http", "keep-alive"),
        ("https", "new"),
        ("https", "resumed"),
        ("https", "keep-alive"),
    ]
    assert campaign.order == "side_by_side"


def test_a_second_sample_reuses_project_target_and_plan(as_alice):
    first, second = (make_sample(as_alice, 8081, 8444) for _ in range(2))
    assert first.project == second.project
    rows = [
        [(test.plan_version_id, test.endpoint_id) for test in each.tests.all()]
        for each in (first, second)
    ]
    assert rows[0] == rows[1]
