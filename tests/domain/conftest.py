"""The domain is pure, and so are its tests."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    files = {path for path in {item.path for item in items} if here in path.parents}
    for item in items:
        if item.path in files:
            item.add_marker(pytest.mark.pure)
