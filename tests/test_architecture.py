"""Two rules protect the measurements: each import is tried in a fresh interpreter. A third keeps
the house readable: what the wings of the domain know of each other is read from their imports.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

DOMAIN = Path(__file__).parents[1] / "campaigns" / "domain"
# Each wing may import from itself and from the ones before it; "" is the ground, beside the wings.
WINGS = ("", "plan", "measured", "judged", "shown", "other_tools")

LIST_MODULES = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(json.dumps(sorted(sys.modules)))
"""


def modules_loaded_by(package: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LIST_MODULES, package], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_the_domain_loads_no_django():
    loaded = modules_loaded_by("campaigns.domain")
    assert "campaigns.domain.plan.plan" in loaded
    assert not {"django", "celery", "redis", "gevent"} & loaded


@pytest.mark.parametrize("forbidden", ["django", "celery", "redis", "kombu", "psycopg"])
def test_the_injector_loads_nothing_but_gevent_and_the_domain(forbidden):
    assert forbidden not in modules_loaded_by("workers.injector")


def test_loading_the_injector_patches_nothing():
    code = (
        "import importlib, pkgutil, socket, ssl, time\n"
        "before = (socket.socket, ssl.SSLContext, time.sleep)\n"
        "import workers.injector as package\n"
        "for each in pkgutil.iter_modules(package.__path__):\n"
        "    if each.name != '__main__': importlib.import_module('workers.injector.' + each.name)\n"
        "from gevent import monkey\n"
        "assert (socket.socket, ssl.SSLContext, time.sleep) == before\n"
        "assert not monkey.saved, monkey.saved\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def wing_of(dotted: str) -> str:
    """The wing of a path below campaigns.domain, such as plan.load; "" for the ground."""
    head = dotted.split(".")[0]
    return head if head in WINGS else ""


def wings_imported_by(source: str) -> set[str]:
    """The wings that a module names in its imports, in either form."""
    imported = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    dotted = {f"{node.module}.{alias.name}" for node in imported for alias in node.names}
    prefix = "campaigns.domain."
    return {wing_of(name.removeprefix(prefix)) for name in dotted if name.startswith(prefix)}


def test_arrows_between_the_wings_run_one_way():
    back = []
    for file in DOMAIN.rglob("*.py"):
        mine = wing_of(str(file.relative_to(DOMAIN)).replace("/", ".").removesuffix(".py"))
        allowed = set(WINGS[: WINGS.index(mine) + 1])
        back += [(file.name, each) for each in wings_imported_by(file.read_text()) - allowed]
    assert back == []


@pytest.mark.parametrize(
    ("line", "wings"),
    [
        ("from campaigns.domain.judged.validity import judge", {"judged"}),
        ("from campaigns.domain import units", {""}),
        ("from campaigns.domain.shown import report_tables as tables", {"shown"}),
        ("from campaigns.domain import shown", {"shown"}),
        ("import json", set()),
    ],
)
def test_an_import_shows_its_wing(line, wings):
    assert wings_imported_by(line) == wings


def test_every_folder_of_the_domain_is_a_wing():
    folders = {each.name for each in DOMAIN.iterdir() if (each / "__init__.py").exists()}
    assert folders == set(WINGS[1:])
