"""The form of an exporter: its faults, and its token that is never shown."""

import pytest

from campaigns.models import Exporter
from campaigns.services.vault import decrypt, encrypt
from tests.factories import make_target
from tests.views.pages import target_page

URL = "http://10.0.0.5:9100/metrics"


@pytest.fixture
def target(project):
    return make_target(project, "shop")


@pytest.fixture
def exporter(target) -> Exporter:
    return Exporter.objects.create(target=target, name="shop-1", url=URL)


@pytest.fixture
def as_editor(client, bob):
    client.force_login(bob)
    return client


def test_a_fault_is_at_its_field_and_nothing_is_lost(as_editor, target):
    given = {"url": "ftp://10.0.0.5", "name": "shop-1", "token": "t0ken"}
    answer = as_editor.post(f"/targets/{target.pk}/exporters/", given)
    assert answer.status_code == 422
    shown = answer.content.decode()
    assert 'value="shop-1"' in shown
    assert "t0ken" not in shown


def test_a_stored_token_is_never_shown_and_stays_until_it_is_removed(as_editor, target, exporter):
    url = "https://10.0.0.5:9100/metrics"
    Exporter.objects.update(url=url, token=encrypt("s3cret"))
    given = {"url": url, "name": "shop-2", "verify_tls": "on", "token": ""}
    shown = as_editor.get(f"/exporters/{exporter.pk}/").content.decode()
    assert "s3cret" not in shown + target_page(as_editor, target)
    as_editor.post(f"/exporters/{exporter.pk}/", given)
    exporter.refresh_from_db()
    assert (exporter.name, decrypt(exporter.token)) == ("shop-2", "s3cret")
    as_editor.post(f"/exporters/{exporter.pk}/", given | {"removes_token": "on"})
    exporter.refresh_from_db()
    assert exporter.token == ""
