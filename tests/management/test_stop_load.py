"""`manage.py stop_load`, as an administrator types it."""

import pytest
from django.core.management import CommandError, call_command

from campaigns.operations.queries import why_load_is_off

pytestmark = pytest.mark.django_db


def test_what_contradicts_itself_changes_nothing():
    call_command("stop_load", "--drain", verbosity=0)
    off = why_load_is_off()
    with pytest.raises(CommandError, match="not allowed with argument --drain"):
        call_command("stop_load", "--drain", "--undo", verbosity=0)
    assert off == why_load_is_off() != ""
