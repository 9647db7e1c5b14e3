"""Histories of earlier releases do not seem to agree on another key exchange group."""

from importlib import import_module

import pytest
from django.db import connection

from campaigns.models import TestFigures
from tests.histories import make_history

pytestmark = pytest.mark.django_db
rename = import_module("campaigns.migrations.0049_groups_as_lists_have_them").Migration.operations


def upgrade() -> None:
    with connection.cursor() as cursor:
        for each in rename:
            cursor.execute(each.sql)


@pytest.mark.parametrize(
    ("kept", "renamed"),
    [
        ("TLSv1.3, AES, x25519", "TLSv1.3, AES, X25519"),
        ("TLSv1.2, A, secp256r1; TLSv1.3, B, x25519", "TLSv1.2, A, P-256; TLSv1.3, B, X25519"),
        ("TLSv1.3, AES, X25519MLKEM768", "TLSv1.3, AES, X25519MLKEM768"),
        ("TLSv1.2, AES", "TLSv1.2, AES"),
    ],
)
def test_what_is_kept_of_tls_names_groups_as_lists_do(project, kept, renamed):
    (test,) = make_history(project, [12.0])
    others = {"Server": "nginx, x25519"}
    TestFigures.objects.filter(test=test).update(facts={"TLS": kept, **others})
    upgrade()
    assert TestFigures.objects.get(test=test).facts == {"TLS": renamed, **others}


def test_what_has_no_tls_stays_without(project):
    (test,) = make_history(project, [12.0])
    before = TestFigures.objects.get(test=test).facts
    upgrade()
    assert TestFigures.objects.get(test=test).facts == before
