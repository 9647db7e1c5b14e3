"""The example of docs/notifications.md, from the page to the receiver's terminal."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from campaigns.models import Campaign
from tests.factories import make_campaign, make_test
from tests.notifications.scenes import arrives, delivering

pytestmark = pytest.mark.django_db(transaction=True)
GUIDE = Path(settings.BASE_DIR, "docs", "notifications.md").read_text()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_receiver_of_the_guide_prints_what_a_campaign_became(project, bob, tmp_path):
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (tmp_path / "receiver.py").write_text(program)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = Client()
    client.force_login(bob)
    channel = {"kind": "webhook", "address": f"http://127.0.0.1:{port}/", "untested": "1"}
    page = client.post(
        f"/projects/{project.pk}/notifications/", {**channel, "kinds": ["campaign.no_result"]}
    )
    (secret,) = re.findall(r"whsec_[\w+/=]+", page.content.decode())
    receiver = subprocess.Popen(
        [sys.executable, tmp_path / "receiver.py"],
        env={**os.environ, "SECRET": secret, "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        arrives(lambda: listens(port), "the receiver listens")
        campaign = make_campaign(project, "Nightly", started_at=timezone.now())
        make_test(campaign)
        Campaign.objects.filter(pk=campaign.pk).update(finished_at=timezone.now())
        with delivering():
            line = receiver.stdout.readline()
    finally:
        receiver.kill()
        receiver.wait()
        receiver.stdout.close()
    assert line == (
        "campaign.no_result Nightly ended without a usable result. "
        f"{settings.SITE_URL}/campaigns/{campaign.pk}/\n"
    )


def test_the_guide_names_every_event_and_setting():
    from campaigns.notifications.domain import CHOICES

    for kind, choice in CHOICES.items():
        assert f"| {choice.title} | `{kind}` |" in GUIDE
    for name in ("BENCHSITE_SMTP", "BENCHSITE_MAIL_FROM", "BENCHSITE_NOTIFY_NETWORKS"):
        assert f"`{name}`" in GUIDE
