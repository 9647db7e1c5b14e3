"""Back to an earlier state of the database, and forward again."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def migrate(to: tuple[str, str]) -> None:
    MigrationExecutor(connection).migrate([to])


@pytest.fixture
def newest(transactional_db):
    """The newest migration; whatever happens, the database has it in the end."""
    (leaf,) = MigrationExecutor(connection).loader.graph.leaf_nodes("campaigns")
    yield leaf
    migrate(leaf)
