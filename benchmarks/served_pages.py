"""One process that serves the site's largest pages: `python -m
benchmarks.served_pages` prints what each cost as JSON. The database is the one that the environment
names, and is empty.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import django

WARM, CALLS = 3, 20
MANY = 200  # tests of a campaign
PLAIN = {"Host": "localhost"}


def main() -> list[dict[str, Any]]:
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client

    from benchmarks import page_scenes
    from tests.factories import make_user

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    owner = make_user("viewer")
    client = Client()
    client.force_login(owner)
    long, short = (page_scenes.sample_runs(owner, *of) for of in ((600, 4, 0.01), (10, 12, 0.05)))
    small = dict(_addresses(owner, long, short, is_small=True))
    large = dict(_addresses(owner, long, short))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for address in small.values():  # imports and templates
        client.get(address, headers=PLAIN)
    load_as_the_server()
    return [{"name": name, **page_cost(client, address)} for name, address in large.items()]


def _addresses(
    owner, long: list, short: list, *, is_small: bool = False
) -> Iterator[tuple[str, str]]:
    """The pages by the name that `benchmarks.pages` has for their goals. `long` and `short`:
    samples of runs of ten minutes and of ten seconds."""
    from django.urls import reverse

    from benchmarks import page_scenes as scenes
    from tests.factories import make_project

    def project():
        return make_project(owner=owner)

    wide = scenes.wide_history(project(), *((2, 1) if is_small else (200, 13)))
    yield "overview", reverse("history", args=[wide.project_id])
    newest = scenes.many_campaigns(project(), short, 30 if is_small else 10_000)
    yield "long", reverse("history-test", args=[newest.pk])
    yield "list", reverse("campaign-list", args=[newest.campaign.project_id])
    yield "runs", reverse("run-list", args=[newest.campaign.project_id])
    large, _ = scenes.compared_campaigns(project(), short, 2 if is_small else MANY)
    yield "campaign", reverse("campaign-detail", args=[large.pk])
    a, b = scenes.compared_campaigns(project(), long, 1 if is_small else 10)
    yield "comparison", f"{reverse('comparison')}?a=campaign-{a.pk}&b=campaign-{b.pk}"
    matrix = scenes.matrix(project(), short, *((2, 2, 3) if is_small else (8, 12, 10)))
    yield "matrix", reverse("campaign-detail", args=[matrix.pk])


def load_as_the_server() -> None:
    """Its collector, which `benchsite.wsgi` sets, is part of what a page costs."""
    from django.core.servers.basehttp import get_internal_wsgi_application

    get_internal_wsgi_application()


def page_cost(client, address: str) -> dict[str, Any]:
    """Making it, the first call in a process that finds it made, the median later, ms; kB."""
    from django.core.cache import caches

    def get() -> bytes:
        answer = client.get(address, headers=PLAIN)
        assert answer.status_code == 200, answer
        return answer.content

    made_ms, page = cost_ms(get)
    first_ms = first_in_a_process_ms(get)
    caches["results"].clear()
    for _ in range(WARM):
        get()
    costs = [cost_ms(get)[0] for _ in range(CALLS)]
    return {
        "made_ms": made_ms,
        "first_ms": first_ms,
        "warm_ms": median(costs),
        "kb": len(page) / 1e3,
    }


def first_in_a_process_ms(get: Callable[[], bytes]) -> float:
    """With what Redis has of it."""
    from campaigns.campaigns.views import kept_pages
    from campaigns.core.cache import Cache

    kept_pages._KEPT = Cache(40)
    return cost_ms(get)[0]


def cost_ms(act: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    made = act()
    return 1e3 * (time.process_time() - began), made


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    json.dump(main(), sys.stdout)
