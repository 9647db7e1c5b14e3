"""Pages of targets: their form with its rows and TLS, profiles, agents and exporters."""

import re
import subprocess
import sys
from datetime import timedelta
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.presentation.sentences import plain_text
from campaigns.models import Exporter, OwnTlsProfile, Probe, Target, TimeMark
from campaigns.probes.services.probes import request_probe
from campaigns.projects.services import decrypt, encrypt
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.histories import make_history
from tests.history.test_triage_services import CALM, SLOWER
from tests.injector.authority import CLIENT, issue
from tests.pages import shown_text, target_page

pytestmark = pytest.mark.django_db

FORM = {
    "name": "shop",
    "scheme": ["http", "https"],
    "host": ["10.0.0.5", "10.0.0.5"],
    "port": ["8080", "8443"],
    "verify_tls": ["yes", "no"],
    "label": ["CPU", "Memory", "Disk"],
    "value": ["8 cores", "", "NVMe"],
}


def new(project) -> str:
    return reverse("target-new", args=[project.pk])


def test_a_target_is_made_from_its_rows(as_editor, project):
    as_editor.post(new(project), FORM)
    target = Target.objects.get()
    assert target.environment == [["CPU", "8 cores"], ["Disk", "NVMe"]]
    assert [(str(each), each.verify_tls) for each in target.endpoints.all()] == [
        ("http://10.0.0.5:8080", True),
        ("https://10.0.0.5:8443", False),
    ]


def test_an_address_that_a_name_is_pinned_to_is_stored_and_comes_back(as_editor, project):
    addresses = {"host": ["shop.example", "shop.example"], "address": ["", "10.0.0.6"]}
    as_editor.post(new(project), {**FORM, **addresses})
    target = Target.objects.get()
    assert [each.address for each in target.endpoints.all()] == ["", "10.0.0.6"]
    page = as_editor.get(reverse("target-edit", args=[target.pk])).content.decode()
    assert 'name="address" value="10.0.0.6"' in page


def test_rows_that_nobody_filled_in_are_left_out(as_editor, project):
    as_editor.post(new(project), {**FORM, "host": ["10.0.0.5", ""], "port": ["80", "443"]})
    assert [str(each) for each in Target.objects.get().endpoints.all()] == ["http://10.0.0.5:80"]


def test_a_wrong_row_is_answered_beside_it_and_nothing_typed_is_lost(as_editor, project):
    answer = as_editor.post(new(project), {**FORM, "host": ["10.0.0.5", "http://x"]})
    page = answer.content.decode()
    assert answer.status_code == 422
    for text in ("shop", "8080", "http://x", "8443", "8 cores", "NVMe"):
        assert f'value="{text}"' in page
    assert not Target.objects.exists()


def test_lists_of_unequal_length_are_refused_not_crashed_on(as_editor, project):
    answer = as_editor.post(new(project), {"name": "x", "host": ["10.0.0.5"], "port": []})
    assert answer.status_code == 422


def test_markup_in_facts_is_shown_as_text(as_editor, project):
    target = make_target(project, "<b>x</b>", environment=[["<i>", "<script>alert(1)</script>"]])
    make_endpoint(target)
    page = as_editor.get(reverse("target-detail", args=[target.pk])).content.decode()
    assert "<script>alert" not in page
    assert "<b>x</b>" not in page


def test_a_target_answers_how_its_tests_do_the_largest_change_first(as_editor, project):
    target = make_target(project)
    plans = [make_plan(project, name) for name in ("calm", "cart")]
    endpoint = make_endpoint(target)
    for plan, values in zip(plans, (CALM, SLOWER), strict=True):
        begin = timezone.now() - timedelta(days=len(values))
        make_history(project, values, tests=[(plan, endpoint, "new")], begin=begin)
    elsewhere = make_plan(project, "elsewhere"), make_endpoint(make_target(project)), "new"
    make_history(project, CALM, tests=[elsewhere], begin=timezone.now() - timedelta(days=9))
    page = as_editor.get(reverse("target-detail", args=[target.pk]))
    assert [row["named"].plan.name for row in page.context["results"]] == ["cart", "calm"]
    assert plain_text(page.context["sentence"]).startswith("1 slower of 2 tests")


def test_an_endpoint_says_what_came_back_last_and_when_its_certificate_expires(
    as_editor, as_bob, project
):
    endpoint = make_endpoint(make_target(project), "https")
    for status in (503, 200):
        step = {"method": "GET", "path": "/", "headers": [], "body": ""}
        probe = request_probe(by=as_bob, endpoint=endpoint, request=step)
        expires = timezone.now() + timedelta(days=9, hours=1)
        certificate = {"subject": "shop.test", "issuer": "Shop CA", "self_signed": False}
        certificate |= {"not_after": expires.isoformat()}
        result = {
            "status": status,
            "response_us": 1900,
            "parts_us": {"wait": 1900},
            "certificates": [certificate],
        }
        Probe.objects.filter(pk=probe.pk).update(result=result, finished_at=timezone.now())
    page = shown_text(as_editor.get(reverse("target-detail", args=[endpoint.target_id])))
    assert "200 OK, 1.90 ms" in page
    assert "shop.test, by Shop CA" in page
    assert "Expires in 9 days" in page


def test_a_target_says_what_waits_for_it_and_nothing_of_other_targets(as_editor, project):
    target, now = make_target(project), timezone.now()
    for name, endpoint in (
        ("waits here", make_endpoint(target)),
        ("waits elsewhere", make_endpoint(make_target(project))),
    ):
        make_test(make_campaign(project, name, started_at=now), endpoint=endpoint)
    TimeMark.objects.create(project=project, target=target, text="release 1.1", at=now, key="1")
    page = target_page(as_editor, target)
    assert "waits here" in page
    assert "waits elsewhere" not in page
    assert "release 1.1" in page


def test_an_edit_shows_what_is_stored_and_changes_it(as_editor, project):
    target = make_target(project, "shop", environment=[["CPU", "8 cores"]])
    make_endpoint(target)
    url = reverse("target-edit", args=[target.pk])
    assert 'value="8 cores"' in as_editor.get(url).content.decode()
    as_editor.post(url, {**FORM, "name": "shop 2"})
    target.refresh_from_db()
    assert target.name == "shop 2"


ISSUED = issue(usage=CLIENT)
POSTED = {
    "name": "shop",
    "scheme": ["http", "https"],
    "host": ["10.0.0.5", "10.0.0.5"],
    "port": ["80", "443"],
    "verify_tls": ["yes", "yes"],
    "tls_min_version": ["", "1.2"],
    "tls_max_version": ["", "1.2"],
    "tls_ciphers": ["", "ECDHE+AESGCM"],
    "tls_sni": ["", "shop.example"],
    "tls_alpn": ["yes", "no"],
    "tls_profile": ["", "classical"],
    "tls_groups": ["", "P-256"],
    "tls_ciphersuites": ["", "TLS_AES_128_GCM_SHA256"],
    "tls_signatures": ["", "ecdsa_secp256r1_sha256"],
    "tls_ca_pem": ["", ""],
    "tls_client_certificate_pem": ["", ISSUED.pem],
    "tls_client_key_pem": ["", ISSUED.key_pem],
}


@pytest.fixture
def tls_target(client, bob, project):
    client.force_login(bob)
    client.post(f"/projects/{project.pk}/targets/new/", POSTED)
    return project.targets.get()


def test_it_takes_the_options_of_each_endpoint(tls_target):
    http, https = tls_target.endpoints.order_by("port")
    assert http.tls == {}
    assert https.tls_words == [
        "profile “Without post-quantum”",
        "TLS 1.2 or newer",
        "TLS 1.2 or older",
        "ciphers ECDHE+AESGCM",
        "announces shop.example",
        "shows a client certificate",
        "offers no ALPN",
        "groups P-256",
        "TLS 1.3 ciphers TLS_AES_128_GCM_SHA256",
        "signatures ecdsa_secp256r1_sha256",
    ]


def test_the_pages_show_the_options_but_never_the_key(client, tls_target):
    detail = client.get(f"/targets/{tls_target.pk}/").content.decode()
    form = client.get(f"/targets/{tls_target.pk}/edit/").content.decode()
    assert 'value="ECDHE+AESGCM"' in form
    assert re.search(r'<option value="classical"[^>]* selected>', form)
    assert "PRIVATE KEY" not in detail + form


POSTED_PROFILE = {"name": "our clients", "max_version": "1.2", "groups": "x25519 P-256"}


@pytest.fixture
def profile(project) -> OwnTlsProfile:
    return OwnTlsProfile.objects.create(
        project=project, name="our clients", offers={"groups": "X25519"}
    )


def new_url(project) -> str:
    return reverse("tls-profile-new", args=[project.pk])


def test_a_profile_is_created_from_the_form(as_editor, project):
    as_editor.post(new_url(project), POSTED_PROFILE)
    assert OwnTlsProfile.objects.get().offers == {"max_version": "1.2", "groups": "X25519:P-256"}


def test_the_target_s_form_offers_it_and_shows_what_was_chosen(as_editor, project, profile):
    fields = {
        "name": "shop",
        "scheme": ["https"],
        "host": ["10.0.0.5"],
        "port": ["443"],
        "verify_tls": ["yes"],
        "tls_profile": ["our clients"],
    }
    as_editor.post(reverse("target-new", args=[project.pk]), fields)
    target = project.targets.get()
    form = as_editor.get(reverse("target-edit", args=[target.pk])).content.decode()
    assert re.search(r'<option value="our clients"[^>]* selected>', form)


@pytest.fixture
def target(project):
    target = make_target(project, "shop")
    make_endpoint(target, "http", 8081)
    make_endpoint(target, "https", 8444)
    return target


def test_the_line_to_copy_has_the_token_that_the_form_stores(client, bob, target):
    client.force_login(bob)
    answer = client.get(f"/targets/{target.pk}/exporters/")
    page = answer.content.decode()
    line = unescape(re.search(r'<code id="agent-line">(.*?)</code>', page)[1])
    match = re.fullmatch(
        r"curl -fsSO http://testserver/agent\.py && BENCHSITE_AGENT_TOKEN=(\S{40,}) "
        r"python3 agent\.py --listen 127\.0\.0\.1:9800 --process :8081 :8444",
        line,
    )
    assert "no-store" in answer["Cache-Control"]
    fields = {"url": "http://127.0.0.1:9800/metrics", "token": match[1]}
    assert all(f'value="{text}"' in page for text in fields.values())
    refusal = client.post(f"/targets/{target.pk}/exporters/", fields | {"url": "ftp://x"})
    assert refusal.content.decode().count(match[1]) == 2, "nothing that was typed is lost"
    client.post(f"/targets/{target.pk}/exporters/", fields | {"verify_tls": "on"})
    assert decrypt(Exporter.objects.get().token) == match[1]
    assert match[1] not in target_page(client, target)


def test_the_agent_is_one_file_that_runs_by_itself(client, db, tmp_path):
    file = tmp_path / "agent.py"
    file.write_bytes(client.get("/agent.py").content)
    command = [sys.executable, "-I", str(file), "--listen", ":9800"]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert done.returncode == 2
    assert "--token-file" in done.stderr


URL = "http://10.0.0.5:9100/metrics"


@pytest.fixture
def exporter(target) -> Exporter:
    return Exporter.objects.create(target=target, name="shop-1", url=URL)


def test_a_stored_token_is_never_shown_and_stays_until_it_is_removed(as_editor, target, exporter):
    url = "https://10.0.0.5:9100/metrics"
    Exporter.objects.update(url=url, token=encrypt("s3cret"))
    fields = {"url": url, "name": "shop-2", "verify_tls": "on", "token": ""}
    html = as_editor.get(f"/exporters/{exporter.pk}/").content.decode()
    assert "s3cret" not in html + target_page(as_editor, target)
    as_editor.post(f"/exporters/{exporter.pk}/", fields)
    exporter.refresh_from_db()
    assert (exporter.name, decrypt(exporter.token)) == ("shop-2", "s3cret")
    as_editor.post(f"/exporters/{exporter.pk}/", fields | {"removes_token": "on"})
    exporter.refresh_from_db()
    assert exporter.token == ""
