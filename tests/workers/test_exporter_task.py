"""A worker asks an exporter once, when somebody has set it."""

import pytest
from django.utils import timezone

from campaigns.models import Exporter
from tests.factories import make_target
from tests.injector.servers import scripted
from tests.workers.node_exporter import node_exporter, reply
from workers.tasks.checks import check_exporter

pytestmark = pytest.mark.django_db


@pytest.fixture
def target(project):
    return make_target(project, "shop")


def checked(target, port: int, **fields) -> Exporter:
    exporter = Exporter.objects.create(
        target=target,
        name="shop-1",
        url=f"http://127.0.0.1:{port}/metrics",
        asked_at=timezone.now(),
        **fields,
    )
    check_exporter(exporter.pk)
    exporter.refresh_from_db()
    assert exporter.asked_at is None
    return exporter


def test_it_stores_what_the_exporter_offers(target):
    with scripted(node_exporter()) as server:
        found = checked(target, server.port)
    assert found.told_at
    assert found.offers == ["CPU", "memory", "network", "loopback", "TCP", "disks", "open files"]


def test_it_stores_why_there_is_nothing_and_what_to_do(target):
    with scripted(node_exporter(lambda age_s: reply("go_goroutines 8\n"))) as server:
        found = checked(target, server.port)
    assert found.told_at is None
    assert found.problem.startswith("It has no metric that benchsite knows, such as node_cpu")


def test_a_check_that_is_answered_already_asks_nobody(target):
    with scripted(node_exporter()) as server:
        found = checked(target, server.port)
        check_exporter(found.pk)
        assert server.n_requests == 1
