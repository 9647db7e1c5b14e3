from local.testing import _pytest_twice


class Scripted:
    """Stands in for the supervisor: gives these exit statuses, keeps the commands."""

    def __init__(self, *statuses: int):
        self.statuses = list(statuses)
        self.commands: list[tuple[str, ...]] = []

    def run_to_end(self, program, log) -> int:
        self.commands.append(program.command)
        return self.statuses.pop(0)


def test_what_passes_is_run_once():
    supervisor = Scripted(0)
    assert _pytest_twice(supervisor, {}) == 0
    assert len(supervisor.commands) == 1


def test_what_fails_is_tried_once_more_alone_and_that_is_said(capsys):
    supervisor = Scripted(1, 0)
    assert _pytest_twice(supervisor, {}, "-m", "browser") == 0
    assert "--last-failed" not in supervisor.commands[0]
    assert {"--last-failed", "-m", "browser"} <= set(supervisor.commands[1])
    assert "tried once more" in capsys.readouterr().out


def test_what_fails_twice_has_failed():
    assert _pytest_twice(Scripted(1, 1), {}) == 1


def test_a_run_that_could_not_begin_is_not_tried_again():
    supervisor = Scripted(2)
    assert _pytest_twice(supervisor, {}) == 2
    assert len(supervisor.commands) == 1
