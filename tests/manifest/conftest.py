from tests.views.conftest import as_editor  # noqa: F401
