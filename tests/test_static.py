"""The hashed static files: every name resolves, also in imports between our own modules."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.templatetags.modules import imports_of, module

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "static" / "js").rglob("*.js"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
IMPORT = re.compile(r"""^\s*(?:import|export)\b[^;'"]*?\bfrom\s*["'](\.[^"']+)["'](;?)""", re.M)
BARE_IMPORT = re.compile(r"""^\s*import\s*["'](\.[^"']+)["'](;?)""", re.M)
TAG = re.compile(r"""{%\s*(?:static|module)\s+["']([^"']+)["']""")
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
    templates = [*TEMPLATES, *(ROOT / "campaigns").rglob("*.html")]
    named = {name for path in templates for name in TAG.findall(path.read_text())}
    assert named - set(manifest) == set()


def test_the_typeface_comes_with_its_licence_and_stays_small(manifest, collected):
    typeface = collected / manifest["lib/inter.woff2"]
    assert typeface.stat().st_size < 50_000
    assert manifest["lib/inter.woff2"].rpartition("/")[2] in (
        (collected / manifest["css/base.css"]).read_text()
    )
    assert "SIL Open Font License" in (collected / manifest["lib/inter-license.txt"]).read_text()


def graph_of(module: Path) -> set[Path]:
    """The module with all of our own modules that it loads."""
    graph, found = set(), {module}
    while found - graph:
        graph |= found
        names = [(path, name) for path in found for name, _ in relative_imports(path.read_text())]
        found = {(path.parent / name).resolve() for path, name in names} & set(MODULES)
    return graph


def scripts_of(template: Path) -> set[str]:
    return {name for name in TAG.findall(template.read_text()) if name.endswith(".js")}


def test_every_module_is_loaded_by_a_page():
    entries = {ROOT / "static" / name for each in TEMPLATES for name in scripts_of(each)}
    loaded = set().union(*(graph_of(path) for path in entries & set(MODULES)))
    assert set(MODULES) - loaded == set()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_page_loads_chart_js_exactly_where_it_draws_with_it(template):
    entries = {ROOT / "static" / name for name in scripts_of(template)} & set(MODULES)
    modules = set().union(*(graph_of(path) for path in entries))
    draws = any("new window.Chart" in path.read_text() for path in modules)
    assert ("lib/chart.umd.min.js" in scripts_of(template)) is draws


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_browser_asks_at_once_for_all_that_a_module_imports(path):
    name = str(path.relative_to(ROOT / "static"))
    ours = {str(each.relative_to(ROOT / "static")) for each in graph_of(path) - {path}}
    imported = imports_of(name)
    assert {each for each in imported if each.startswith("js/")} == ours
    assert len(set(imported)) == len(imported)
    links = re.findall('<link rel="modulepreload" href="/static/([^"]+)">', module(name))
    assert links == imported
    assert module(name).endswith(f'<script type="module" src="/static/{name}"></script>')
