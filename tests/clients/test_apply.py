"""A project as a file at the command line: shown, asked, applied; exported."""

import pytest

from campaigns.models import SavedPlan, Target
from tests.clients.conftest import client_module
from tests.factories import make_target

pytestmark = pytest.mark.django_db
FILE = """\
version: 1
plans:
  - name: Home
    spec: {steps: [{path: /}], load: {model: open, rate_per_s: 5, duration_s: 2}}
targets: []
"""


@pytest.fixture
def terminal(monkeypatch, tmp_path):
    """Says this at a terminal, where it is asked; None without one."""
    (tmp_path / "benchsite.yaml").write_text(FILE)

    def answer(text: str | None) -> None:
        monkeypatch.setattr(client_module.sys.stdin, "isatty", lambda: text is not None, False)
        monkeypatch.setattr("builtins.input", lambda _: text)

    return answer


@pytest.mark.parametrize(
    ("reply", "options", "code", "is_made"),
    [
        ("y", [], 0, True),
        ("n", [], 2, False),
        (None, [], 2, False),
        (None, ["--yes"], 0, True),
        (None, ["--dry-run"], 0, False),
    ],
)
def test_nothing_is_made_that_nobody_agreed_to(
    job, terminal, project, capsys, reply, options, code, is_made
):
    terminal(reply)
    assert job("apply", "benchsite.yaml", *options) == code
    assert SavedPlan.objects.exists() == is_made
    assert "Create plan Home\n    spec." in capsys.readouterr().out


def test_what_is_as_the_file_says_asks_nobody(job, terminal, project, capsys):
    terminal(None)
    job("apply", "benchsite.yaml", "--yes")
    assert job("apply", "benchsite.yaml") == 0
    assert capsys.readouterr().out.endswith("The project is as the file says.\n")


def test_what_is_left_out_goes_only_with_prune(job, terminal, project):
    terminal(None)
    make_target(project)
    assert job("apply", "benchsite.yaml", "--yes") == 0
    assert Target.objects.get().deleted_at is None
    assert job("apply", "benchsite.yaml", "--yes", "--prune") == 0
    assert Target.objects.get().deleted_at


def test_each_fault_has_its_line(job, terminal, project, capsys, tmp_path):
    terminal(None)
    (tmp_path / "benchsite.yaml").write_text(FILE.replace("path: /", "path: x"))
    assert job("apply", "benchsite.yaml", "--yes") == 2
    assert "\n  plans.0.spec.steps.0.path: Line 4: " in capsys.readouterr().err
    assert job("apply", "missing.yaml", "--yes") == 2
    assert "missing.yaml" in capsys.readouterr().err


def test_an_export_is_a_file_to_apply(job, terminal, project, capsys, tmp_path):
    terminal(None)
    job("apply", "benchsite.yaml", "--yes")
    capsys.readouterr()
    assert job("export") == 0
    text = capsys.readouterr().out
    assert text.startswith("# yaml-language-server: $schema=http")
    (tmp_path / "benchsite.yaml").write_text(text)
    assert job("apply", "benchsite.yaml") == 0
