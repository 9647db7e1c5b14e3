"""`make check` holds what is in the repository to the numbers of pyproject.toml."""

import subprocess

import pytest

from local.checks import is_within_budget


@pytest.mark.parametrize(("lines", "files", "holds"), [(3, 2, True), (2, 2, False), (3, 1, False)])
def test_more_lines_or_files_than_the_budget_fail(tmp_path, lines, files, holds):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.benchsite.budget]\n"
        f'product = {{ paths = ["site/*.py", ":!site/old"], lines = {lines}, files = {files} }}\n'
    )
    for name, text in (("a.py", "1\n2\n"), ("deep/b.py", "3\n"), ("old/c.py", "4\n")):
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in (("init", "--quiet"), ("add", "site")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert is_within_budget(tmp_path) is holds
