import pytest

from local.testing import BROWSER_WORKERS, WORKERS, _pytest_twice, _report, _used_s

PYTHON, BROWSERS = {"Python tests": ()}, {"browser tests": ("-m", "browser")}


class Scripted:
    """Stands in for the supervisor: gives these exit statuses, keeps the commands."""

    def __init__(self, log_dir, *statuses: int):
        self.log_dir = log_dir
        self.statuses = list(statuses)
        self.runs: list[list[tuple[str, ...]]] = []

    def run_together(self, jobs) -> list[int]:
        self.runs.append([program.command for program, _ in jobs])
        for _, log in jobs:
            if log:
                log.write_text("written meanwhile\n")
        return [self.statuses.pop(0) for _ in jobs]


@pytest.fixture
def scripted(tmp_path):
    def scripted(*statuses: int) -> Scripted:
        return Scripted(tmp_path, *statuses)

    return scripted


def test_what_passes_is_run_once(scripted):
    supervisor = scripted(0)
    assert _pytest_twice(supervisor, {}, PYTHON) == {"Python tests": 0}
    assert len(supervisor.runs) == 1


def test_what_fails_is_tried_once_more_alone_and_that_is_said(scripted, capsys):
    supervisor = scripted(1, 0)
    assert _pytest_twice(supervisor, {}, BROWSERS) == {"browser tests": 0}
    (first,), (second,) = supervisor.runs
    assert "--last-failed" not in first
    assert {"--last-failed", "-m", "browser"} <= set(second)
    assert "tried once more" in capsys.readouterr().out


def test_parts_run_at_once_and_what_failed_again_after_all_of_them(scripted, capsys):
    supervisor = scripted(0, 1, 0)
    assert _pytest_twice(supervisor, {}, PYTHON | BROWSERS) == dict.fromkeys(PYTHON | BROWSERS, 0)
    assert [len(run) for run in supervisor.runs] == [2, 1]
    assert {"--last-failed", "browser"} <= set(supervisor.runs[1][0])
    told = capsys.readouterr().out
    assert "browser tests:\nwritten meanwhile" in told
    assert "the cores were idle for" in told


def test_what_fails_twice_has_failed(scripted):
    assert _pytest_twice(scripted(1, 1), {}, PYTHON) == {"Python tests": 1}


def test_a_run_that_could_not_begin_is_not_tried_again(scripted):
    supervisor = scripted(2)
    assert _pytest_twice(supervisor, {}, PYTHON) == {"Python tests": 2}
    assert len(supervisor.runs) == 1


def test_at_the_end_it_says_how_much_processor_time_its_processes_took(capsys):
    assert _report({"Python tests": 0}, before_s=_used_s() - 70) == 0
    assert capsys.readouterr().out.endswith("servers and browsers included: 70 s\n")


def test_no_two_workers_share_a_name():
    """It is that of their database, Redis and folder."""
    assert len(set(WORKERS)) == len(WORKERS) > len(BROWSER_WORKERS) > 0
