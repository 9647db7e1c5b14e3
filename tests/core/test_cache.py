"""What a process keeps is made once for all who ask together; whoever waits has no connection."""

import threading
import time
from functools import partial

import pytest
from django.db import connection

from campaigns.core import cache, database
from campaigns.core.cache import Cache
from tests.waiting import eventually


def test_those_who_ask_together_share_one_making():
    memory, makings, values = Cache(2), [], []

    def make():
        time.sleep(0.05)
        makings.append(1)
        return object()

    threads = [
        threading.Thread(target=lambda: values.append(memory.get("a", make))) for _ in range(20)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(makings) == 1
    assert len(set(map(id, values))) == 1


def test_a_later_version_is_made_again_and_an_earlier_one_is_not():
    memory, versions = Cache(2), []
    for version in (1, 1, 2, 1, 2):
        memory.get("a", partial(versions.append, version), version)
    assert versions == [1, 2]


def test_the_least_used_falls_out():
    memory = Cache(2)
    for key in ("a", "b", "a", "c"):
        memory.get(key, lambda key=key: key)
    assert memory.get("a", lambda: "new") == "a"
    assert memory.get("b", lambda: "new") == "new"


def test_what_failed_is_made_again_and_all_who_waited_for_it_get_the_fault():
    memory, faults, is_making = Cache(2), [], threading.Event()

    def fail():
        is_making.set()
        eventually(lambda: waiting.ident and others_wait(memory), 10, "somebody waits for it")
        raise ZeroDivisionError

    def ask(make):
        try:
            memory.get("a", make)
        except ZeroDivisionError as fault:
            faults.append(fault)

    making = threading.Thread(target=ask, args=[fail])
    waiting = threading.Thread(target=ask, args=[lambda: 7])
    making.start()
    assert is_making.wait(10)
    waiting.start()
    for each in (making, waiting):
        each.join(10)
    assert len(faults) == 2
    assert memory.get("a", lambda: 5) == 5


def others_wait(memory: Cache) -> bool:
    [entry] = memory._entries.values()
    return bool(entry.is_made._cond._waiters)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("waits_for", ["a value that is being made", "a lock that is held"])
def test_who_waits_for_another_gives_its_connection_back(waits_for, monkeypatch):
    lock, memory, has_released, connections = threading.Lock(), Cache(1), threading.Event(), []
    release = database.release_connection

    def release_and_note():
        release()
        connections.append(connection.connection)
        has_released.set()

    for module in (cache, database):
        monkeypatch.setattr(module, "release_connection", release_and_note)

    def wait():
        connection.ensure_connection()
        connections.append(connection.connection)
        if waits_for.startswith("a lock"):
            with database.held(lock):
                pass
        else:
            memory.get("a", lambda: None)

    def other():
        waiter.start()
        assert has_released.wait(10)

    waiter = threading.Thread(target=wait)
    with lock:
        memory.get("a", other)
    waiter.join(10)
    assert [each is None for each in connections] == [False, True]


def test_what_one_release_has_made_another_one_of_any_module_makes_again():
    assert {"campaigns", "core", "live"} <= {each.name for each in cache._MODULES.iterdir()}
