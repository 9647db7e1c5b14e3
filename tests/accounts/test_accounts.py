"""Signing in and out, passwords, tokens, projects and members, and the injectors' page."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings as django_settings
from django.urls import reverse
from django.utils import timezone

from campaigns.core.permissions import Role
from campaigns.models import ApiToken, InjectorHost
from tests.engine.scenes import host, others_use
from tests.factories import make_campaign, make_project

pytestmark = pytest.mark.django_db


def test_on_a_workstation_a_made_up_address_is_no_way_round_the_lock(client, alice):
    fields = {"username": "alice", "password": "wrong"}
    answers = [
        client.post(
            reverse("account_login"), fields, headers={"X-Forwarded-For": f"203.0.113.{number}"}
        )
        for number in range(django_settings.AXES_FAILURE_LIMIT)
    ]
    assert answers[-1].status_code == 429


def test_behind_a_proxy_nobody_locks_the_account_of_somebody_at_another_address(
    client, alice, settings
):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    stranger, owner = {"X-Forwarded-For": "198.51.100.7"}, {"X-Forwarded-For": "203.0.113.9"}
    fields = {"username": "alice", "password": "wrong"}
    for _ in range(django_settings.AXES_FAILURE_LIMIT):
        answer = client.post(reverse("account_login"), fields, headers=stranger)
    assert answer.status_code == 429
    both = {"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}
    assert client.post(reverse("account_login"), fields, headers=both).status_code == 429
    right = client.post(reverse("account_login"), fields | {"password": "pw"}, headers=owner)
    assert right.url == reverse("project-list")


def test_one_password_for_many_names_locks_the_address_and_no_other(client, alice, settings):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    settings.WRONG_PASSWORDS_OF_AN_ADDRESS = 8
    stranger, owner = {"X-Forwarded-For": "198.51.100.7"}, {"X-Forwarded-For": "203.0.113.9"}
    right = {"username": "alice", "password": "pw"}
    statuses = []
    for number in range(8):
        fields = {"username": f"name {number}", "password": "summer"}
        statuses.append(client.post(reverse("account_login"), fields, headers=stranger).status_code)
    assert statuses == [200] * 7 + [429]
    assert client.post(reverse("account_login"), right, headers=stranger).status_code == 429
    assert client.post(reverse("account_login"), right, headers=owner).status_code == 302


def test_signing_out_is_a_post(client, alice):
    client.force_login(alice)
    assert client.get(reverse("account_logout")).status_code == 405
    assert client.post(reverse("account_logout")).url == reverse("account_login")
    assert client.get("/").status_code == 302


@pytest.mark.parametrize("query", ["", "?compare=1&with=2"])
def test_who_was_signed_out_comes_back_to_the_form(query, client, alice, project):
    campaign = make_campaign(project, started_at=timezone.now())
    page = reverse("campaign-detail", args=[campaign.pk])
    stop = reverse("campaign-stop", args=[campaign.pk])
    address = client.post(stop, headers={"Referer": f"http://testserver{page}{query}"}).url
    back = client.post(address, {"username": "alice", "password": "pw"} | next_of(address))
    assert back.url == f"{page}{query}#undone"


@pytest.mark.parametrize("page", ["", "https://elsewhere.example/campaigns/1/"])
def test_a_form_of_no_known_page_leads_to_the_projects_after_the_sign_in(page, client):
    address = client.post(reverse("campaign-stop", args=[1]), headers={"Referer": page}).url
    assert next_of(address)["next"] == reverse("project-list")


def test_a_script_that_was_signed_out_leaves_no_message(client, project):
    script = {"X-Requested-With": "XMLHttpRequest"}
    client.post(reverse("plan-preview", args=[project.pk]), headers=script)
    assert "messages" not in client.cookies


def next_of(address: str) -> dict[str, str]:
    """What the sign-in page sends on."""
    return dict(parse_qsl(urlsplit(address).query))


def change_password(client, **ticks):
    fields = {"oldpassword": "pw", "password1": "a-new-Pass7", "password2": "a-new-Pass7"}
    return client.post(reverse("account_change_password"), fields | ticks, follow=True)


@pytest.mark.parametrize("ticks", [{"revokes_tokens": "on"}, {}])
def test_a_new_password_revokes_the_live_tokens_only_where_it_says_so(client, alice, ticks):
    client.force_login(alice)
    client.post(reverse("token-list"), {"name": "ci", "scope": "read", "days": "30"})
    change_password(client, **ticks)
    assert (ApiToken.objects.get().revoked_at is not None) == bool(ticks)
    alice.refresh_from_db()
    assert alice.check_password("a-new-Pass7")


@pytest.mark.parametrize("password", ["alice-alice", "ALICE2alice7", "Alice-1234"])
def test_a_password_made_of_the_user_name_is_refused(password, client, alice):
    client.force_login(alice)
    fields = {"oldpassword": "pw", "password1": password, "password2": password}
    client.post(reverse("account_change_password"), fields)
    alice.refresh_from_db()
    assert alice.check_password("pw")


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "http://["])
def test_no_page_leads_elsewhere_after_sign_in(elsewhere, client, alice):
    url = f"{reverse('account_login')}?next={elsewhere}"
    answer = client.post(url, {"username": "alice", "password": "pw", "next": elsewhere})
    assert answer.url == reverse("project-list")


def test_a_new_token_is_shown_once(client, alice):
    client.force_login(alice)
    url = reverse("token-list")
    answer = client.post(url, {"name": "ci", "scope": "read", "days": "30"})
    assert "bs_pat_" in answer.content.decode()
    text = answer.context["text"]
    assert "no-store" in answer["Cache-Control"]
    assert text not in client.get(url).content.decode()


def test_injectors_are_listed_and_a_foreign_project_stays_out_of_the_bar(client, project, charlie):
    now = timezone.now()
    InjectorHost.objects.create(
        name="inj-1", slots=2, seen_at=now, started_at=now, facts={"cores": 4}
    )
    client.force_login(charlie)
    page = client.get(reverse("injector-list") + f"?project={project.pk}").content.decode()
    assert "inj-1" in page
    assert "4 cores" in page
    assert project.name not in page
    assert client.get(reverse("injector-list") + "?project=²").status_code == 200


def test_the_list_of_hosts_names_programs_only_to_who_may_start_campaigns(
    client, project, alice, vera
):
    host(slots=4, use=others_use(0.9))
    pages = []
    for user in (alice, vera):
        client.force_login(user)
        pages.append(client.get(reverse("injector-list")).content.decode())
    assert "other programs 90\u202f% of the CPU (python3 report.py 90\u202f%)" in pages[0]
    assert "other programs 90\u202f% of the CPU" in pages[1]
    assert "report.py" not in pages[1]


def members(project) -> str:
    return reverse("project-members", args=[project.pk])


def test_a_name_with_markup_is_shown_as_text(client, alice):
    make_project("<script>alert(1)</script>", owner=alice)
    client.force_login(alice)
    page = client.get("/", follow=True).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_the_owner_adds_changes_and_removes(client, project, alice, charlie):
    client.force_login(alice)
    client.post(members(project), {"username": "charlie", "role": "viewer"})
    membership = project.memberships.get(user=charlie)
    client.post(reverse("membership-role", args=[membership.pk]), {"role": "operator"})
    membership.refresh_from_db()
    assert membership.role == Role.OPERATOR
    client.post(reverse("membership-remove", args=[membership.pk]))
    assert not project.memberships.filter(user=charlie).exists()


def test_a_role_that_there_is_not_changes_nothing(client, project, alice, vera):
    client.force_login(alice)
    address = reverse("membership-role", args=[project.memberships.get(user=vera).pk])
    client.post(address, {"role": "king"})
    assert project.memberships.get(user=vera).role == Role.VIEWER
