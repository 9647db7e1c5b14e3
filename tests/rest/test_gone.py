"""A project that is deleted while somebody makes something in it: they are told that it is gone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from campaigns.models import Project, SavedPlan
from tests.cast import enter, token_client
from tests.factories import make_endpoint, make_plan, make_project, make_target, make_user
from tests.plans.plan_form import save
from tests.values import plan_spec
from tests.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner():
    return make_user("owner")


@pytest.fixture
def dying_project(owner) -> Project:
    project = make_project("Doomed", owner=owner)
    make_endpoint(make_target(project, "shop"))
    return project


def _somebody_waits_for_us() -> bool:
    """Of this test: other databases of the server have tests whose sessions wait as well."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
        )
        return cursor.fetchone()[0] > 0


def _while_it_is_deleted(project: Project, ask: Callable[[], int]) -> int:
    """The answer to a request that came before the deletion and is done after it."""
    answers, is_held = [], Event()

    def asking() -> None:
        is_held.wait(20)
        answers.append(ask())
        connection.close()

    thread = Thread(target=asking)
    thread.start()
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).delete()
        is_held.set()
        eventually(_somebody_waits_for_us, 20, "the request waits for the deletion")
    thread.join()
    return answers[0]


@pytest.mark.parametrize(
    ("what", "code"),
    # Where a limit is counted, the row that it belongs to is held, and missed by its name.
    [("plans", 404), ("targets", 404), ("probes", 409), ("tls-profiles", 409), ("exporters", 409)],
)
def test_rest_answers_that_it_is_gone(owner, dying_project, what, code):
    api, target = token_client(owner), dying_project.targets.get()
    endpoint = target.endpoints.get()
    origin = {"scheme": "http", "host": "10.0.0.6", "port": 80}
    path, body = {
        "plans": ("plans", {"project": dying_project.pk, "name": "late", "spec": plan_spec()}),
        "targets": (
            "targets",
            {"project": dying_project.pk, "name": "late", "endpoints": [origin]},
        ),
        "probes": ("probes", {"endpoint": endpoint.pk, "request": {"path": "/"}}),
        "tls-profiles": (f"projects/{dying_project.pk}/tls-profiles", {"name": "late"}),
        "exporters": (f"targets/{target.pk}/exporters", {"url": "10.0.0.5:9100"}),
    }[what]
    post = api.post
    status = _while_it_is_deleted(
        dying_project, lambda: post(f"/api/v1/{path}/", body, format="json").status_code
    )
    assert status == code


def test_a_page_says_that_it_is_not_there(owner, dying_project):
    enter(browser := Client(), owner)
    browser.get(reverse("plan-new", args=[dying_project.pk]))
    assert (
        _while_it_is_deleted(dying_project, lambda: save(browser, dying_project).status_code) == 404
    )


@contextmanager
def _plans_go_while_they_are_read() -> Iterator[None]:
    """Another one deletes them after the first statement that reads them."""
    read = []

    def note(execute, sql, *context):
        answer = execute(sql, *context)
        if sql.startswith('SELECT "campaigns_plan"."id"') and not read:
            read.append(sql)
            SavedPlan.objects.all().delete()
        return answer

    with connection.execute_wrapper(note):
        yield
    assert read


def test_a_plan_that_is_deleted_while_it_is_read_is_not_there(owner, dying_project):
    for address, status in [
        ("/api/v1/plans/{plan}/", 404),
        ("/api/v1/plans/", 200),
        ("/plans/{plan}/", 404),
        ("/plans/{plan}/edit/", 404),
        ("/projects/{project}/plans/", 200),
    ]:
        plan = make_plan(dying_project).plan_id
        enter(browser := Client(), owner)
        with _plans_go_while_they_are_read():
            answer = browser.get(address.format(plan=plan, project=dying_project.pk))
        assert answer.status_code == status
