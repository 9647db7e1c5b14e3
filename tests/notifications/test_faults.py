"""The dispatcher's real process, killed between events and their deliveries."""

from collections import Counter

import pytest
from django.conf import settings
from django.utils import timezone

from campaigns.models import Campaign
from campaigns.notifications.models import NotificationDelivery
from tests.factories import make_campaign
from tests.faults.processes import Process, database_url
from tests.notifications.receivers import http_receiver
from tests.notifications.scenes import arrives, make_channel

pytestmark = pytest.mark.django_db(transaction=True)
KILLS, AT_ONCE = 2, 20


@pytest.mark.long
def test_kills_lose_nothing_and_only_what_was_on_the_wire_comes_again(project, tmp_path):
    environment = {"DATABASE_URL": database_url(), "REDIS_URL": settings.REDIS_URL}
    environment |= {"BENCHSITE_VAR": str(tmp_path)}

    def dispatcher() -> Process:
        return Process("dispatcher", ["workers.dispatcher"], tmp_path, **environment)

    with http_receiver() as receiver:
        make_channel(project, receiver.url)
        for _ in range(KILLS):
            running, n_before = dispatcher(), len(receiver.received)
            for _ in range(AT_ONCE):
                campaign = make_campaign(project, started_at=timezone.now())
                Campaign.objects.filter(pk=campaign.pk).update(finished_at=timezone.now())
            arrives(lambda n=n_before: len(receiver.received) > n, within_s=60)
            running.kill()
        last = dispatcher()
        deliveries = NotificationDelivery.objects
        try:
            # Those that were claimed when it was killed: as if their claims had ended.
            deliveries.filter(state="waiting").update(due_at=timezone.now())
            n_events = KILLS * AT_ONCE
            arrives(lambda: deliveries.filter(state="sent").count() == n_events, within_s=60)
        finally:
            last.end()
    copies = Counter(each.headers["webhook-id"] for each in receiver.received)
    assert len(copies) == n_events
    # Only what was on the wire when its dispatcher was killed comes again, under the same id.
    attempts = {
        f"benchsite-{event}-{channel}": n
        for event, channel, n in deliveries.values_list("event", "channel", "n_attempts")
    }
    assert all(n == 1 or n <= attempts[number] for number, n in copies.items())
    assert sum(copies.values()) - n_events <= KILLS * 8
