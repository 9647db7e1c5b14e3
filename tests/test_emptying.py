"""What a test with real transactions leaves behind."""

import pytest
from django.contrib.auth.models import Permission, User

from campaigns.models import AuditEntry, Project
from campaigns.models.audit import Deed
from tests.emptying import empty_all_tables

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_row_is_left_but_those_of_the_migrations(alice, project):
    # A trigger keeps it from being deleted.
    AuditEntry.objects.create(deed=Deed.SIGNED_IN, who=alice.username)
    n_permissions = Permission.objects.count()
    empty_all_tables()
    assert not any(model.objects.exists() for model in (AuditEntry, Project, User))
    assert Permission.objects.count() == n_permissions > 0
