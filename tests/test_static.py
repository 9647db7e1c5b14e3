"""The hashed static files: every name resolves, also in imports between our own modules."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "static" / "js").rglob("*.js"))
IMPORT = re.compile(r"""^\s*(?:import|export)\b[^;'"]*?\bfrom\s*["'](\.[^"']+)["'](;?)""", re.M)
BARE_IMPORT = re.compile(r"""^\s*import\s*["'](\.[^"']+)["'](;?)""", re.M)
TAG = re.compile(r"""{%\s*static\s+["']([^"']+)["']""")
HASHED = re.compile(r"\.[0-9a-f]{12}\.js$")


def relative_imports(text: str) -> list[tuple[str, str]]:
    return IMPORT.findall(text) + BARE_IMPORT.findall(text)


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> Path:
    """What collectstatic makes with the settings as they are."""
    var = tmp_path_factory.mktemp("var")
    env = {**os.environ, "BENCHSITE_VAR": str(var)}
    done = subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--no-input", "-v", "0"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return var / "static"


@pytest.fixture(scope="module")
def manifest(collected) -> dict[str, str]:
    return json.loads((collected / "staticfiles.json").read_text())["paths"]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_relative_import_ends_with_a_semicolon(module):
    """Only then does Django see it and write the hashed name into it."""
    for name, semicolon in relative_imports(module.read_text()):
        assert semicolon, f"import of {name}"


def test_every_file_of_ours_has_a_hashed_name(manifest, collected):
    for path in (ROOT / "static").rglob("*.*"):
        name = str(path.relative_to(ROOT / "static"))
        assert (collected / manifest[name]).exists()


def test_no_import_of_an_unhashed_name_is_left(manifest, collected):
    for path in MODULES:
        served = collected / manifest[str(path.relative_to(ROOT / "static"))]
        for name, _semicolon in relative_imports(served.read_text()):
            assert HASHED.search(name), f"{served.name} imports {name}"
            assert (served.parent / name).resolve().exists()


def test_every_file_that_a_template_names_is_collected(manifest):
    folders = [ROOT / "templates", ROOT / "campaigns"]
    templates = [path for folder in folders for path in folder.rglob("*.html")]
    named = {name for path in templates for name in TAG.findall(path.read_text())}
    assert named - set(manifest) == set()


def test_the_libraries_of_the_pages_are_there(manifest):
    assert "lib/chart.umd.min.js" in manifest
    assert "admin/js/vendor/jquery/jquery.min.js" in manifest
