"""Locust's counterpart of our run on kept connections: each user asks again at once.

Prints how many requests there were, and their CPU time without the start of Python.
"""

import json
import resource

from locust import FastHttpUser, events, task

_began_us: list[float] = []


def _cpu_us() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e6


@events.test_start.add_listener
def _begin(**_):
    _began_us.append(_cpu_us())


@events.quitting.add_listener
def _report(environment, **_):
    total = environment.stats.total
    said = {"requests": total.num_requests, "failures": total.num_failures}
    print(json.dumps({**said, "cpu_us": _cpu_us() - _began_us[0]}))


class LocustUser(FastHttpUser):
    @task
    def ask(self):
        self.client.get("/")
