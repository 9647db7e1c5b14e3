import re
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import ApiToken, AuditEntry
from campaigns.permissions import Actor, Scope
from campaigns.services.tokens import (
    authenticate_token,
    create_token,
    revoke_all_tokens,
    revoke_token,
)


@pytest.fixture
def made(as_alice):
    return create_token(by=as_alice, name="nightly job", scope=Scope.READ, days=30)


def row_as_text(row) -> str:
    return repr(type(row).objects.filter(pk=row.pk).values().get())


def test_it_makes_a_token_that_secret_scanners_recognise(made):
    _, text = made
    assert re.fullmatch(r"bs_pat_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", text)


def test_the_database_holds_neither_the_text_nor_its_secret(made):
    token, text = made
    secret = text.removeprefix(f"bs_pat_{token.lookup}_")
    assert text not in row_as_text(token)
    assert secret not in row_as_text(token)
    assert re.fullmatch(r"[0-9a-f]{64}", token.token_hash)


def test_the_hash_depends_on_the_pepper(made, settings):
    _, text = made
    settings.TOKEN_PEPPER = "another pepper"
    assert authenticate_token(text=text) is None


def test_it_recognises_its_text(made, alice):
    token, text = made
    found = authenticate_token(text=text)
    assert found == token
    assert found.user == alice


@pytest.mark.parametrize("change", ["secret", "lookup", "prefix", "nothing", "unicode"])
def test_it_recognises_no_other_text(made, change):
    token, text = made
    other = {
        "secret": text[:-1] + ("A" if text[-1] != "A" else "B"),
        "lookup": text.replace(token.lookup, "0" * 16),
        "prefix": text.removeprefix("bs_pat_"),
        "nothing": "",
        "unicode": text + "ü\x00",
    }[change]
    assert authenticate_token(text=other) is None


def test_an_expired_token_is_dead(made):
    token, text = made
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    assert authenticate_token(text=text) is None


def test_a_revoked_token_is_dead_at_once_and_stays_so(made, as_alice):
    token, text = made
    revoke_token(by=as_alice, token=token)
    assert authenticate_token(text=text) is None
    first = ApiToken.objects.get(pk=token.pk).revoked_at
    revoke_token(by=as_alice, token=token)
    assert ApiToken.objects.get(pk=token.pk).revoked_at == first


def test_the_token_of_an_inactive_user_is_dead(made, alice):
    _, text = made
    alice.is_active = False
    alice.save()
    assert authenticate_token(text=text) is None


def test_use_is_noted_at_most_once_a_minute(made):
    token, text = made
    authenticate_token(text=text)
    first = ApiToken.objects.get(pk=token.pk).last_used_at
    assert first is not None
    authenticate_token(text=text)
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first
    earlier = first - timedelta(seconds=61)
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=earlier)
    authenticate_token(text=text)
    assert ApiToken.objects.get(pk=token.pk).last_used_at > earlier


@pytest.mark.parametrize(
    "wrong", [{"days": 0}, {"days": 366}, {"name": " "}, {"name": "x" * 101}, {"scope": "root"}]
)
def test_it_refuses_a_token_out_of_bounds(as_alice, wrong):
    with pytest.raises(Refused):
        create_token(by=as_alice, **{"name": "job", "scope": "read", "days": 30, **wrong})


def test_a_token_makes_and_revokes_no_token(made, alice):
    token, _ = made
    by_token = Actor(user=alice, token=token)
    with pytest.raises(Forbidden):
        create_token(by=by_token, name="successor", scope="read", days=1)
    with pytest.raises(Forbidden):
        revoke_token(by=by_token, token=token)


def test_nobody_revokes_the_token_of_another(made, as_bob):
    token, text = made
    with pytest.raises(Forbidden):
        revoke_token(by=as_bob, token=token)
    assert authenticate_token(text=text)


def test_to_revoke_all_where_none_is_live_leaves_no_note(made, as_alice):
    assert revoke_all_tokens(by=as_alice) == 1
    assert revoke_all_tokens(by=as_alice) == 0
    assert AuditEntry.objects.filter(deed=AuditEvent.TOKEN_REVOKED).count() == 1
