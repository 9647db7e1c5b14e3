from datetime import timedelta

from django.utils import timezone

from campaigns.models import InjectorHost
from campaigns.queries.injector_hosts import ALIVE_S, free_slots, live_hosts, total_slots
from campaigns.services.load_control import announce_host
from tests.services.engine import host, preparing


def silence(name, seconds):
    past = timezone.now() - timedelta(seconds=seconds)
    InjectorHost.objects.filter(name=name).update(seen_at=past)


def test_a_host_that_announces_itself_brings_its_slots(db):
    announce_host(name="a", slots=2, facts={"cores": 2})
    announce_host(name="b", slots=3, facts={})
    assert total_slots() == free_slots() == 5
    assert live_hosts().get(name="a").facts == {"cores": 2}


def test_a_silent_host_takes_its_slots_away(db):
    host(slots=2)
    silence("host 1", ALIVE_S + 1)
    assert not live_hosts().exists()
    assert total_slots() == 0


def test_announcing_again_changes_the_slots_and_keeps_the_start(db):
    host(slots=2)
    began = InjectorHost.objects.get().started_at
    host(slots=4)
    again = InjectorHost.objects.get()
    assert (again.slots, again.started_at) == (4, began)


def test_a_host_that_comes_back_after_a_silence_begins_anew(db):
    host(slots=2)
    began = InjectorHost.objects.get().started_at
    silence("host 1", ALIVE_S + 1)
    host(slots=2)
    assert InjectorHost.objects.get().started_at > began


def test_an_admitted_run_takes_slots_before_anybody_has_claimed_them(project):
    preparing(project, n_shards=3)
    assert total_slots() - free_slots() == 3


def test_more_shards_than_slots_are_no_negative_freedom(project):
    preparing(project, n_shards=3)
    host(slots=1)
    assert free_slots() == 0
