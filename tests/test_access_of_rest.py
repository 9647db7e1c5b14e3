"""The same at every address of the REST API as tests/test_access.py tries at pages."""

import pytest

from tests.access_checks import check_everybody, check_other_methods
from tests.access_probes import ROUTES
from tests.access_table import API

pytestmark = pytest.mark.django_db
NAMES = sorted(set(API) & set(ROUTES))


def test_everybody_gets_what_the_table_says(world, schema_statuses):
    for name in NAMES:
        check_everybody(world, schema_statuses, name)


def test_a_method_that_the_table_does_not_list_changes_nothing(world):
    for name in NAMES:
        check_other_methods(world, name)
