"""The pages of channels: who sees which, what is never shown, and the link on a campaign's page."""

import re
import threading
from functools import partial

import pytest
from django.test import Client
from django.utils import timezone

from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.models import AuditEntry, Campaign
from campaigns.notifications import services, views
from campaigns.notifications.models import ChannelKind, NotificationChannel, NotificationDelivery
from campaigns.projects.services import decrypt, rotate_secrets
from tests.engine.scenes import at_once
from tests.factories import make_campaign, make_run, make_test
from tests.notifications.receivers import http_receiver
from tests.notifications.scenes import arrives, delivering, make_channel
from tests.pages import browser_of, words_of

pytestmark = pytest.mark.django_db(transaction=True)
OWN_EMAIL = {"project": None, "kind": "email", "label": "", "kinds": []}
ADDRESS = "https://hooks.shop.example/s3cr3t-path"


def add(client: Client, page: str, **fields):
    new = {"kind": "webhook", "address": ADDRESS, "untested": "1", "kinds": ["campaign.ended"]}
    return client.post(page, {**new, **fields})


def test_an_editor_adds_a_webhook_and_sees_its_secret_once(bob, project):
    page = f"/projects/{project.pk}/notifications/"
    answer = add(browser_of(bob), page, label="hooks")
    channel = NotificationChannel.objects.get()
    secret = decrypt(channel.secrets)
    assert secret in answer.content.decode()
    for again in (page, f"/channels/{channel.pk}/"):
        html = browser_of(bob).get(again).content.decode()
        assert "hooks" in html
        assert secret not in html
        assert "s3cr3t" not in html
    assert (channel.project, channel.kinds) == (project, ["campaign.ended"])
    assert AuditEntry.objects.get(deed="channel_added").what == "Webhook hooks"


def test_what_is_no_address_is_refused_where_it_is_typed(bob, project):
    for kind, address in [
        ("webhook", "ftp://hooks.shop.example/"),
        ("webhook", "hooks.shop.example"),
        ("slack", "https://hooks.shop.example/services/x"),
        ("other", "nothing://at.all"),
        ("email", "oncall@shop.example"),  # without a mail server
    ]:
        page = f"/projects/{project.pk}/notifications/"
        answer = add(browser_of(bob), page, kind=kind, address=address, label="typed label")
        assert answer.status_code == 422
        assert "typed label" in answer.content.decode()
        assert not NotificationChannel.objects.exists()


def test_a_services_own_address_is_taken_as_it_was_copied(bob, project):
    page = f"/projects/{project.pk}/notifications/"
    address = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    assert add(browser_of(bob), page, kind="slack", address=address).status_code == 302
    assert NotificationChannel.objects.get().label == "Slack"


def test_a_test_says_at_once_whether_it_arrived(bob, project):
    with http_receiver(statuses=[200, 404]) as receiver, delivering():
        make_channel(project, receiver.url, label="hooks")
        page = f"/channels/{NotificationChannel.objects.get().pk}/action/"
        answer = browser_of(bob).post(page, {"do": "test"}, follow=True)
        assert "The test reached hooks." in words_of(answer)
        NotificationDelivery.objects.all().delete()
        answer = browser_of(bob).post(page, {"do": "test"}, follow=True)
        assert "The receiver answered 404." in words_of(answer)
    failed = NotificationDelivery.objects.get()
    assert (failed.state, failed.n_attempts) == ("failed", 1)
    assert NotificationChannel.objects.get().paused_at is None


def test_a_test_that_nobody_sends_is_on_its_way(bob, project, monkeypatch):
    monkeypatch.setattr(views, "TEST_WITHIN_S", 0.2)
    channel = make_channel(project)
    client = browser_of(bob)
    answer = client.post(f"/channels/{channel.pk}/action/", {"do": "test"}, follow=True)
    assert "is on its way" in words_of(answer)
    answer = client.post(f"/channels/{channel.pk}/action/", {"do": "test"}, follow=True)
    assert "A test was sent a moment ago" in words_of(answer)


def test_a_viewer_sees_no_channel_and_no_place_of_one(vera, project):
    channel = make_channel(project, label="#secret-room")
    client = browser_of(vera)
    assert client.get(f"/projects/{project.pk}/notifications/").status_code == 403
    assert client.get(f"/channels/{channel.pk}/").status_code == 404
    campaign = live_campaign(project)
    response = client.get(f"/campaigns/{campaign.pk}/")
    assert "the project will be notified" in words_of(response)
    assert "#secret-room" not in response.content.decode()


def test_a_persons_channels_are_theirs_alone(alice, bob, project):
    channel = make_channel(user=alice, label="alice's phone")
    assert "alice&#x27;s phone" in browser_of(alice).get("/account/notifications/").content.decode()
    assert browser_of(bob).get(f"/channels/{channel.pk}/").status_code == 404
    answer = browser_of(bob).post(f"/channels/{channel.pk}/action/", {"do": "remove"})
    assert answer.status_code == 404
    assert NotificationChannel.objects.exists()


def test_events_are_chosen_in_the_table(bob, project):
    first, second, newer = (make_channel(project, kinds=["agent.silent"]) for _ in range(3))
    choice = {"do": "choose", "shown": [first.pk, second.pk]}
    kinds = {f"kinds-{first.pk}": ["campaign.regression", "made.up"]}
    browser_of(bob).post(f"/projects/{project.pk}/notifications/", {**choice, **kinds})
    for channel in (first, second, newer):
        channel.refresh_from_db()
    assert (first.kinds, second.kinds) == (["campaign.regression"], [])
    assert newer.kinds == ["agent.silent"]  # somebody added it since


def test_a_channel_is_changed_without_its_address(bob, project):
    channel = make_channel(project, ADDRESS)
    fields = {"label": "renamed", "kinds": ["agent.silent"], "address": ""}
    browser_of(bob).post(f"/channels/{channel.pk}/", fields)
    channel.refresh_from_db()
    assert (channel.label, channel.kinds) == ("renamed", ["agent.silent"])
    assert decrypt(channel.address) == ADDRESS


def test_a_new_secret_signs_beside_the_one_before(bob, project):
    channel = make_channel(project)
    old = decrypt(channel.secrets)
    response = browser_of(bob).post(f"/channels/{channel.pk}/action/", {"do": "secret"})
    channel.refresh_from_db()
    new, last = decrypt(channel.secrets).split()
    assert last == old
    assert new in response.content.decode()
    assert old not in response.content.decode()


def test_pausing_holds_what_waits_and_resuming_sends_it(bob, project):
    with http_receiver(statuses=[503, 200]) as receiver, delivering():
        channel = make_channel(project, receiver.url)
        Campaign.objects.filter(pk=live_campaign(project).pk).update(finished_at=timezone.now())
        arrives(lambda: receiver.received)
        page, client = f"/channels/{channel.pk}/action/", browser_of(bob)
        client.post(page, {"do": "pause"})
        NotificationDelivery.objects.update(due_at=timezone.now())
        threading.Event().wait(1.2)  # more than two of its turns
        assert len(receiver.received) == 1
        client.post(page, {"do": "resume"})
        arrives(lambda: NotificationDelivery.objects.get().state == "sent")
    assert len(receiver.received) == 2


def test_an_archived_project_changes_no_channel(bob, project):
    channel = make_channel(project)
    type(project).objects.update(archived_at=timezone.now())
    client = browser_of(bob)
    assert client.get(f"/channels/{channel.pk}/").status_code == 409
    assert client.get(f"/projects/{project.pk}/notifications/").status_code == 409
    client.post(f"/channels/{channel.pk}/action/", {"do": "remove"})
    assert NotificationChannel.objects.exists()


def test_a_removed_channel_takes_its_secrets_along(bob, project):
    channel = make_channel(project)
    browser_of(bob).post(f"/channels/{channel.pk}/action/", {"do": "remove"})
    assert not NotificationChannel.objects.exists()


@pytest.mark.parametrize("page", ["/projects/{}/notifications/", "/account/notifications/"])
def test_there_are_no_more_channels_than_allowed(bob, project, monkeypatch, page):
    for most in ("MOST_OF_PROJECT", "MOST_OF_PERSON"):
        monkeypatch.setattr(services, most, 1)
    page = page.format(project.pk)
    at_once(*[partial(add, browser_of(bob), page) for _ in range(6)])
    answer = add(browser_of(bob), page)
    assert "There are 1 channels" in words_of(answer)
    assert NotificationChannel.objects.count() == 1


def test_channels_follow_the_vaults_newest_key(project, settings):
    channel = make_channel(project, ADDRESS)
    settings.VAULT_KEYS = ["the new key of the vault", *settings.VAULT_KEYS]
    assert rotate_secrets() == 2
    settings.VAULT_KEYS = settings.VAULT_KEYS[:1]
    channel.refresh_from_db()
    assert decrypt(channel.address) == ADDRESS


# --- on the page of a campaign --------------------------------------------------------------------
def live_campaign(project, **fields) -> Campaign:
    campaign = make_campaign(project, started_at=timezone.now(), **fields)
    make_run(make_test(campaign))
    return campaign


def test_a_live_campaign_offers_to_notify_and_names_who_will_be(bob, project):
    campaign = live_campaign(project)
    page, client = f"/campaigns/{campaign.pk}/", browser_of(bob)
    text = client.get(page).content.decode()
    assert f'<a href="/projects/{project.pk}/notifications/?finished=1">Get notified</a>' in text
    make_channel(project, label="#perf")
    text = words_of(client.get(page))
    assert "You can leave this page: #perf will be notified." in text
    assert "Get notified" not in text


def test_who_comes_from_a_campaign_finds_its_end_ticked(bob, project):
    page, client = f"/projects/{project.pk}/notifications/", browser_of(bob)
    tick = r'value="campaign.ended"[^>]*checked'
    assert not re.search(tick, client.get(f"{page}?add=slack").content.decode())
    html = client.get(f"{page}?finished=1").content.decode()
    assert 'href="?finished=1&amp;add=slack#new"' in html
    for address in (f"{page}?finished=1&add=slack", "/account/notifications/?add=slack"):
        assert re.search(tick, client.get(address).content.decode())


def test_a_channel_that_does_not_want_ends_is_not_named(bob, project):
    make_channel(project, label="#perf", kinds=["agent.silent"])
    make_channel(project, label="#paused", paused_at=timezone.now())
    text = words_of(browser_of(bob).get(f"/campaigns/{live_campaign(project).pk}/"))
    assert "Get notified" in text


def test_what_open_pages_share_names_nobodys_channel(alice, bob, project):
    make_channel(user=alice, label="alice's phone")
    campaign = live_campaign(project, created_by=alice)
    page = f"/campaigns/{campaign.pk}/"
    assert "alice&#x27;s phone" in browser_of(alice).get(page).content.decode()
    for user in (alice, bob):
        again = browser_of(user).get(page, headers={"X-Requested-With": "XMLHttpRequest"})
        assert "phone" not in again.content.decode()
        assert 'data-live="notified"' not in again.content.decode()


def test_an_ended_campaign_takes_the_sentence_away(bob, project):
    campaign = live_campaign(project)
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=timezone.now())
    again = browser_of(bob).get(
        f"/campaigns/{campaign.pk}/", headers={"X-Requested-With": "XMLHttpRequest"}
    )
    assert '<div data-live="notified"></div>' in again.content.decode()


def test_a_channel_obeys_its_owner_and_its_kind(as_alice, as_bob, alice, project, settings):
    own = make_channel(user=alice, kind=ChannelKind.EMAIL)
    with pytest.raises(Forbidden):
        services.choose_kinds(by=as_bob, channel=own, kinds=[])
    with pytest.raises(Refused):
        services.replace_secret(by=as_alice, channel=own)
    settings.HAS_EMAIL = True
    for address in ("nobody", "", "a" * 5000):
        with pytest.raises(InvalidFields):
            services.add_channel(by=as_alice, **OWN_EMAIL, address=address)
    changes = {"label": "me", "kinds": ["campaign.ended"], "address": "me@shop.example"}
    row = services.change_channel(by=as_alice, channel=own, **changes)
    assert (row.label, decrypt(row.address)) == ("me", "me@shop.example")
    NotificationChannel.objects.update(paused_at=timezone.now())
    with pytest.raises(Refused):
        services.send_test(by=as_alice, channel=own)
