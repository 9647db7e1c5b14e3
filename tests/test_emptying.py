"""What a test with real transactions leaves behind."""

import pytest
from django.contrib.auth.models import Permission, User

from campaigns.models import AuditEntry, Project
from tests.emptying import empty_all_tables

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_row_is_left_but_those_of_the_migrations(client, alice, project):
    client.force_login(alice)
    assert AuditEntry.objects.exists(), "which a trigger keeps from being deleted"
    n_permissions = Permission.objects.count()
    empty_all_tables()
    assert not any(model.objects.exists() for model in (AuditEntry, Project, User))
    assert Permission.objects.count() == n_permissions > 0
