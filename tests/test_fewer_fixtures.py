"""What is left of what pytest does around a test, and what a worker of a parallel run tells."""

import pytest

from tests.fewer_fixtures import LASTING, is_news

pytestmark = pytest.mark.pure


@pytest.fixture
def patched(monkeypatch):
    monkeypatch.setenv("BENCHSITE_PATCHED", "yes")


def fixtures_of(request) -> set[str]:
    return set(request.node.fixturenames) - LASTING


@pytest.mark.sockets
def test_a_test_has_the_fixtures_that_it_asks_for(request, tmp_path):
    used = {"request", "tmp_path", "tmp_path_factory", "_pure_tests_open_nothing", "monkeypatch"}
    assert fixtures_of(request) == used


def test_what_a_fixture_asks_for_is_there(request, patched):
    assert {"patched", "monkeypatch"} <= fixtures_of(request)


@pytest.mark.usefixtures("patched")
def test_a_fixture_may_be_asked_for_without_its_value(request):
    assert {"patched", "monkeypatch"} <= fixtures_of(request)


@pytest.mark.parametrize(
    ("when", "outcome", "more", "is_told"),
    [
        ("call", "passed", {}, True),
        ("call", "failed", {}, True),
        ("setup", "passed", {}, False),
        ("setup", "failed", {}, True),
        ("setup", "skipped", {}, True),
        ("teardown", "passed", {}, False),
        ("teardown", "failed", {}, True),
        ("teardown", "passed", {"user_properties": [("processor_s", 1.5)]}, True),
        ("teardown", "passed", {"sections": [("Captured log", "it ends")]}, True),
    ],
)
def test_a_worker_tells_that_a_test_passed_once_and_all_that_went_wrong(
    when, outcome, more, is_told
):
    about = {"nodeid": "tests/test_a.py::test_b", "location": ("", 1, ""), "keywords": {}}
    report = pytest.TestReport(**about, outcome=outcome, longrepr=None, when=when, **more)
    assert is_news(report) is is_told
