"""What pytest does around each of five thousand tests, without the part that does nothing.

A test that only asserts something asked for nineteen fixtures, and its worker told three times that
it had passed: six milliseconds, which is half a minute of all tests together.
"""

import os

import pytest
from _pytest.runner import runtestprotocol

# Of pytest-django. No test has their markers, sends mail or is a unittest; there are no sites.
WITHOUT_USE = {
    "_dj_autoclear_mailbox",
    "_django_clear_site_cache",
    "_django_isolate_apps",
    "_django_set_urlconf",
    "_django_setup_unittest",
    "_template_string_if_invalid_marker",
}
# Set up by the first test of a process, they last until its end.
LASTING = {
    "django_test_environment",
    "_fail_for_invalid_template_variable",
    "_only_what_tests_make_is_collected",
    "_pages_tell_their_context",
    "_tables_are_emptied_quickly",
    "_to_enter_is_no_ceremony",
}
SET_UP: set[str] = set()
OF_MARKED = {"django_db": "_django_db_marker", "pure": "_pure_tests_open_nothing"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Left out here, they are not looked for either: for each test function in each worker."""
    of_all = session._fixturemanager._node_autousenames[session]
    of_all[:] = [name for name in of_all if name not in WITHOUT_USE]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    item.fixturenames = _of_use(item)
    yield
    SET_UP.update(LASTING & item.funcargs.keys())


def _of_use(item: pytest.Function) -> list[str]:
    """Without those that only the left out ones asked for, such as monkeypatch."""
    info, needless = item._fixtureinfo, set(SET_UP)
    if "live_server" not in item.fixturenames:
        needless.add("_live_server_helper")
    for marker, fixture in OF_MARKED.items():
        if item.get_closest_marker(marker) is None:
            needless.add(fixture)
    names = [name for name in item.fixturenames if name not in needless or name in info.argnames]
    fixtures = [each for name in names for each in info.name2fixturedefs.get(name, ())]
    needs = {*info.initialnames, *(name for each in fixtures for name in each.argnames)}
    return [name for name in names if name in needs]


def pytest_runtest_protocol(item, nextitem):
    """pytest's own, in a worker of a parallel run, which tells only what is news."""
    if "PYTEST_XDIST_WORKER" not in os.environ or item.config.option.durations is not None:
        return None
    about = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**about)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if is_news(report):
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**about)
    return True


def is_news(report: pytest.TestReport) -> bool:
    """That a test was set up and cleaned up shows in that it has passed."""
    says_more = report.sections or report.user_properties
    return report.when == "call" or not report.passed or bool(says_more)
