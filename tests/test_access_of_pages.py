"""Who asks at every page gets what tests/access_table.py says: nobody, a stranger, one role below
the one that the page needs, and that role. A marker of the project in anything that
somebody reads who should not fails here; so does a write by a request that should write nothing.
"""

import pytest

from tests.access_checks import check_everybody, check_other_methods
from tests.access_probes import ROUTES
from tests.access_table import PAGES

pytestmark = pytest.mark.django_db
NAMES = sorted(set(PAGES) & set(ROUTES))


def test_everybody_gets_what_the_table_says(world):
    for name in NAMES:
        check_everybody(world, {}, name)  # the API's schema tells nothing of pages


def test_a_method_that_the_table_does_not_list_changes_nothing(world):
    for name in NAMES:
        check_other_methods(world, name)
