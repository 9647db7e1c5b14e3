"""Two rules protect the measurements: each import is tried in a fresh interpreter. The others
keep the product readable, and are read from its text: who may import whom, no circles, and names
that classes do not share.
"""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOMAIN = ROOT / "campaigns" / "domain"
PRODUCT = ("campaigns", "workers", "benchsite", "local", "benchmarks")
# Django finds a management command by this name of its class.
NAMED_BY_DJANGO = {"Command"}
MIGRATIONS = "campaigns.migrations"
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


@cache
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


def test_the_agent_loads_only_pythons_own_library():
    """The site hands it out as one file."""
    tops = {name.partition(".")[0] for name in modules_loaded_by("workers.agent")}
    of_machine = {"sitecustomize", "usercustomize"}  # every Python on it loads these
    foreign = tops - sys.stdlib_module_names - {"__main__", "workers"} - of_machine
    assert {name for name in foreign if not name.startswith("_")} == set()


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
        ("from campaigns.domain.judged.judgement import judge", {"judged"}),
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


@cache
def product_modules() -> dict[str, Path]:
    """The file of each module by its dotted name; a package goes by its own."""
    files = [file for folder in PRODUCT for file in (ROOT / folder).rglob("*.py")]
    dotted = {file: ".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}
    return {name.removesuffix(".__init__"): file for file, name in dotted.items()}


def imports_of(source: str) -> set[str]:
    """The modules of the product that a module imports, anywhere in its text."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & product_modules().keys() or {node.module}
    return found & product_modules().keys()


@cache
def product_imports() -> dict[str, set[str]]:
    return {name: imports_of(file.read_text()) - {name} for name, file in product_modules().items()}


def test_migrations_use_no_code_that_may_change():
    """A database of any release arrives at the same rows, whatever became of the product since."""
    outward = {
        (module, each)
        for module, all_imported in product_imports().items()
        for each in all_imported
        if is_within(module, MIGRATIONS)
    }
    assert outward == set()


def classes_of(source: str) -> list[str]:
    """The classes of a module; those inside of others are private to them."""
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


def test_every_class_name_means_one_thing():
    homes = defaultdict(list)
    for file in product_modules().values():
        for name in classes_of(file.read_text()):
            if file.parent.name != "migrations" and name not in NAMED_BY_DJANGO:
                homes[name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_no_modules_import_each_other_in_a_circle():
    """Imports for types only, and those inside of functions, are imports."""
    try:
        TopologicalSorter(product_imports()).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@cache
def layers() -> dict[str, set[str]]:
    """The table of docs/architecture.md: what each layer may import, as dotted names."""
    section = (ROOT / "docs" / "architecture.md").read_text().split("## Layers")[1].split("\n##")[0]
    table = {}
    for row in re.findall(r"^\| (`.*) \| .* \| (.*) \|$", section, re.MULTILINE):
        allowed = {_dotted(each) for each in row[1].split(", ") if each != "nothing"}
        table |= {_dotted(name): allowed for name in re.findall(r"`([^`]+)`", row[0])}
    return table


def _dotted(name: str) -> str:
    """campaigns/queue.py is campaigns.queue, and so is queue."""
    dotted = name.removesuffix(".py").replace("/", ".")
    return dotted if dotted.split(".")[0] in PRODUCT else f"campaigns.{dotted}"


def is_within(module: str, folder: str) -> bool:
    return f"{module}.".startswith(f"{folder}.")


@cache
def layer_of(module: str) -> str | None:
    """The innermost layer that a module is in; None for what is in none, such as migrations."""
    return max((each for each in layers() if is_within(module, each)), key=len, default=None)


@pytest.mark.parametrize("layer", layers())
def test_a_layer_imports_only_what_the_table_allows(layer):
    mine = {module: each for module, each in product_imports().items() if layer_of(module) == layer}
    assert mine, "the table names a layer that does not exist"
    wrong = {
        (module, imported)
        for module, all_imported in mine.items()
        for imported in all_imported
        if layer_of(imported) != layer
        and not any(is_within(imported, each) for each in layers()[layer])
    }
    assert wrong == set()


def test_every_folder_of_the_product_is_a_layer():
    folders = {
        f"campaigns.{each.parent.name}" for each in (ROOT / "campaigns").glob("*/__init__.py")
    }
    assert folders | set(PRODUCT) - {"campaigns"} <= layers().keys() | {MIGRATIONS}


@pytest.mark.parametrize(
    ("source", "imported"),
    [
        ("from campaigns.domain import units", {"campaigns.domain.units"}),
        ("from campaigns.domain.units import ms", {"campaigns.domain.units"}),
        ("import local.paths", {"local.paths"}),
        ("def late():\n    from campaigns.models import Run", {"campaigns.models"}),
        ("if TYPE_CHECKING:\n    from campaigns.queue import send", {"campaigns.queue"}),
        ("import json\nfrom django.db import models", set()),
    ],
)
def test_imports_are_seen_wherever_they_are(source, imported):
    assert imports_of(source) == imported
