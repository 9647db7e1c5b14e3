"""Files that say something new at each reading, read without being opened again."""

import os

import pytest

from workers.injector.machine import ProcFiles

pytestmark = pytest.mark.pure


def test_a_file_that_stays_open_says_what_is_true_now(tmp_path):
    path = tmp_path / "gauge"
    with ProcFiles() as files:
        for said in ("1 2 3\nmore\n", "4 5 6\nmore\n"):
            path.write_text(said)
            assert files.first_line(str(path)) == said.splitlines()[0]


def test_a_file_that_comes_in_many_pieces_is_read_to_its_end(tmp_path):
    expected = [f"line {number}" for number in range(20_000)]
    (tmp_path / "long").write_text("\n".join(expected))
    with ProcFiles() as files:
        assert files.lines(str(tmp_path / "long")) == expected


def test_a_file_that_is_not_there_says_nothing(tmp_path):
    with ProcFiles() as files:
        assert (files.first_line(str(tmp_path / "none")), files.lines(str(tmp_path))) == ("", [])


def test_nothing_stays_open_after_the_end():
    before = os.listdir("/proc/self/fd")
    with ProcFiles() as files:
        assert files.first_line("/proc/stat").startswith("cpu")
        assert len(os.listdir("/proc/self/fd")) == len(before) + 1
    assert os.listdir("/proc/self/fd") == before
