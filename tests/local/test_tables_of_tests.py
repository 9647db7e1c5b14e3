from pathlib import Path

import pytest

from local import tables_of_tests
from local.console import LocalError
from local.tables_of_tests import make_tables

ENV = {"DATABASE_URL": "postgres://benchsite@%2Fsockets:5432/benchsite"}


class Scripted:
    """Stands in for the supervisor: every program ends with this status, a dump is written."""

    def __init__(self, log_dir: Path, status: int = 0):
        self.log_dir, self.status = log_dir, status
        self.ran: list[str] = []

    def run_to_end(self, program, log: Path) -> int:
        self.ran.append(program.name)
        log.write_text("what it said\n")
        for argument in program.command:
            if program.name == "pg_dump" and argument.startswith("--file="):
                Path(argument.removeprefix("--file=")).write_text("CREATE TABLE …")
        return self.status


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with one migration."""
    monkeypatch.setattr(tables_of_tests, "ROOT", tmp_path)
    monkeypatch.setenv("BENCHSITE_VAR", str(tmp_path / "var"))
    (tmp_path / "campaigns" / "migrations").mkdir(parents=True)
    (tmp_path / "campaigns" / "migrations" / "0001_initial.py").write_text("first")
    return tmp_path


def programs_of_a_run(checkout: Path) -> list[str]:
    supervisor = Scripted(checkout)
    make_tables(supervisor, ENV)
    return supervisor.ran


def test_what_the_migrations_made_is_read_back_by_the_next_run(checkout):
    assert programs_of_a_run(checkout) == ["manage-migrate", "pg_dump"]
    assert programs_of_a_run(checkout) == ["psql"]


@pytest.mark.parametrize("changed", ["0001_initial.py", "0002_more.py"])
def test_a_migration_that_changed_or_came_is_migrated_and_what_was_kept_goes(checkout, changed):
    programs_of_a_run(checkout)
    (checkout / "campaigns" / "migrations" / changed).write_text("second")
    assert programs_of_a_run(checkout) == ["manage-migrate", "pg_dump"]
    assert len(list((checkout / "var" / "tests").iterdir())) == 1


def test_a_failure_says_why_and_keeps_nothing(checkout):
    with pytest.raises(LocalError, match="what it said"):
        make_tables(Scripted(checkout, status=1), ENV)
    assert programs_of_a_run(checkout) == ["manage-migrate", "pg_dump"]
