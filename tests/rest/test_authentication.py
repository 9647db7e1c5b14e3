import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from campaigns.accounts.tokens import create_token
from campaigns.core.permissions import Actor, Scope
from campaigns.models import Target
from tests.cast import client_of

NEW_TARGET = {"name": "demo", "endpoints": [{"scheme": "http", "host": "127.0.0.1", "port": 8081}]}


def bearer(text: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=text)
    return client


@pytest.fixture
def new_token(as_alice):
    return create_token(by=as_alice, name="job", scope=Scope.READ, days=1)


def test_nobody_gets_401_and_is_told_how_to_ask(db):
    answer = APIClient().get("/api/v1/projects/")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "unauthenticated"


def test_a_token_sees_what_its_owner_sees(new_token, project):
    answer = bearer(f"Bearer {new_token[1]}").get("/api/v1/projects/")
    assert [row["name"] for row in answer.json()["results"]] == [project.name]
    assert answer.json()["results"][0]["role"] == "owner"


def test_a_wrong_header_gets_401(new_token):
    for header in ["Bearer", "Bearer bs_pat_x_y", "Basic YTpi", "Bearer a b", "bs_pat", "Bearer ü"]:
        answer = bearer(header.encode()).get("/api/v1/projects/")
        assert answer.status_code == 401
        assert answer.json()["error"]["code"] == "unauthenticated"


def test_a_token_in_a_cookie_or_in_the_address_counts_for_nothing(new_token):
    client = APIClient()
    client.cookies["Authorization"] = f"Bearer {new_token[1]}"
    client.cookies["token"] = new_token[1]
    assert client.get(f"/api/v1/projects/?token={new_token[1]}").status_code == 401


def test_a_token_loses_the_rights_that_its_owner_loses(new_token, project, alice):
    project.memberships.get(user=alice).delete()
    client = bearer(f"Bearer {new_token[1]}")
    assert client.get(f"/api/v1/projects/{project.pk}/").status_code == 404


@pytest.fixture
def no_failures_counted():
    """Neither those of earlier tests here, nor those of this one by later tests."""
    cache.clear()
    yield
    cache.clear()


def test_many_wrong_tokens_are_slowed_down_and_right_ones_are_not(new_token, no_failures_counted):
    wrong = bearer("Bearer bs_pat_0000000000000000_" + "A" * 43)
    answers = [wrong.get("/api/v1/projects/") for _ in range(31)]
    assert answers[29].status_code == 401
    assert answers[30].status_code == 429
    assert answers[30].json()["error"]["code"] == "throttled"
    assert int(answers[30]["Retry-After"]) > 0
    assert bearer(f"Bearer {new_token[1]}").get("/api/v1/projects/").status_code == 200


def test_a_session_reads_without_and_writes_only_with_the_csrf_token(alice, project):
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.get("/api/v1/projects/").status_code == 200
    body = {**NEW_TARGET, "project": project.pk}
    refusal = client.post("/api/v1/targets/", body, format="json")
    assert refusal.status_code == 403
    assert refusal.json()["error"]["code"] == "forbidden"
    assert not Target.objects.exists()
    client.cookies["csrftoken"] = "a" * 32
    answer = client.post("/api/v1/targets/", body, format="json", HTTP_X_CSRFTOKEN="a" * 32)
    assert answer.status_code == 201


def test_a_token_needs_no_csrf_token(alice, project):
    client = APIClient(enforce_csrf_checks=True)
    _, text = create_token(by=Actor(user=alice), name="job", scope=Scope.WRITE, days=1)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    body = {**NEW_TARGET, "project": project.pk}
    assert client.post("/api/v1/targets/", body, format="json").status_code == 201


def test_an_inactive_user_has_no_session(alice):
    client = client_of(alice)
    alice.is_active = False
    alice.save()
    assert client.get("/api/v1/projects/").status_code == 401


def test_a_token_at_a_page_is_told_where_the_api_is(api):
    for address in ["/runs/1/report.txt", "/runs/1/", "/", "/login/", "/admin/"]:
        answer = api.get(address, follow=True)
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert "/api/v1/docs/" in answer.json()["error"]["message"]


def test_a_token_at_a_page_that_needs_no_account_changes_nothing(api):
    assert api.get("/healthz").status_code == 200


def test_a_forged_forwarded_address_does_not_begin_a_new_count(new_token, settings):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    wrong = bearer("Bearer bs_pat_0000000000000000_" + "A" * 43)
    for n in range(30):
        wrong.get("/api/v1/projects/", headers={"X-Forwarded-For": f"10.0.0.{n}, 198.51.100.7"})
    again = {"X-Forwarded-For": "10.0.1.1, 198.51.100.7"}
    assert wrong.get("/api/v1/projects/", headers=again).status_code == 429
    another = {"X-Forwarded-For": "203.0.113.9"}
    assert wrong.get("/api/v1/projects/", headers=another).status_code == 401
