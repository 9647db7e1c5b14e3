"""The hashed static files: every name resolves, also in imports between bundles; how much a first
visit loads."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.template import engines

from campaigns.template_words import imports_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "static" / "js" / "pages").rglob("*.js"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
NAMED = re.compile(r"""{{ (?:static|module)\(["']([^"']+)["']\)""")
HASHED = re.compile(r"\.[0-9a-f]{12}\.js$")
IMPORT = re.compile(r"""\b(?:import|from)["'](\.[^"']+)["'];""")
BUILT = sorted((ROOT / "static" / "built").rglob("*.js"))


# In a process of its own: it ends orphans.
COLLECT = """
import os, sys
from pathlib import Path
from local.site import Ports
from tests.staged_site import StagedSite
site = StagedSite(Path(sys.argv[1]), Ports())
site.env = os.environ | {"BENCHSITE_VAR": sys.argv[1]}
del os.environ["BENCHSITE_VAR"]
site.share_static()
"""


@pytest.fixture(scope="module")
def static_dir(tmp_path_factory) -> Path:
    """What collectstatic makes with the settings as they are, anew where that has changed."""
    var = tmp_path_factory.mktemp("var")
    command = [sys.executable, "-c", COLLECT, str(var)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return var / "static"


@pytest.fixture(scope="module")
def manifest(static_dir) -> dict[str, str]:
    return json.loads((static_dir / "staticfiles.json").read_text())["paths"]


@pytest.mark.long
def test_every_file_of_ours_has_a_hashed_name(manifest, static_dir):
    for path in (ROOT / "static").rglob("*.*"):
        name = str(path.relative_to(ROOT / "static"))
        if not name.startswith(("js/", "built/.")):
            assert (static_dir / manifest[name]).exists()


def test_no_import_of_an_unhashed_name_is_left(manifest, static_dir):
    for path in BUILT:
        copy = static_dir / manifest[str(path.relative_to(ROOT / "static"))]
        for name in IMPORT.findall(copy.read_text()):
            assert HASHED.search(name), f"{copy.name} imports {name}"
            assert (copy.parent / name).resolve().exists()


def test_every_file_that_a_template_names_is_collected(manifest):
    templates = [*TEMPLATES, *(ROOT / "campaigns").rglob("*.html")]
    names = {name for path in templates for name in NAMED.findall(path.read_text())}
    bundles = {name.replace("js/", "built/", 1) for name in names}
    assert bundles - set(manifest) == set()


def test_the_typeface_comes_with_its_licence_and_stays_small(manifest, static_dir):
    typeface = static_dir / manifest["lib/inter.woff2"]
    assert typeface.stat().st_size < 50_000
    assert manifest["lib/inter.woff2"].rpartition("/")[2] in (
        (static_dir / manifest["css/base.css"]).read_text()
    )
    assert "SIL Open Font License" in (static_dir / manifest["lib/inter-license.txt"]).read_text()


def test_every_page_module_is_loaded_by_a_page():
    names = {name for each in TEMPLATES for name in NAMED.findall(each.read_text())}
    pages = {str(path.relative_to(ROOT / "static")) for path in PAGES}
    assert pages - names == set()


def test_a_first_visit_takes_at_most_twelve_files_of_180_kb(static_dir, manifest):
    """Scripts and the typeface, compressed as they are sent."""
    module = engines["jinja"].env.globals["module"]
    for path in PAGES:
        names = {"lib/inter.woff2", "built/lib/early_theme.js"}
        for entry in ("js/lib/site.js", str(path.relative_to(ROOT / "static"))):
            links = re.findall('(?:href|src)="/static/([^"]+)"', module(entry))
            assert len(set(links)) == len(links)
            names |= set(links)
        sizes = [sent_bytes(static_dir / manifest[name]) for name in names]
        assert len(sizes) <= 12
        assert sum(sizes) <= 180_000


def sent_bytes(path: Path) -> int:
    gzip_file = path.with_name(f"{path.name}.gz")
    return (gzip_file if gzip_file.exists() else path).stat().st_size


def test_a_browser_asks_at_once_for_all_that_a_bundle_imports():
    for path in BUILT:
        name = str(path.relative_to(ROOT / "static"))
        modules, waiting = set(), {path}
        while waiting:
            each = waiting.pop()
            imports = {(each.parent / one).resolve() for one in IMPORT.findall(each.read_text())}
            waiting |= imports - modules
            modules |= imports
        assert {str(each.relative_to(ROOT / "static")) for each in modules} == set(imports_of(name))
