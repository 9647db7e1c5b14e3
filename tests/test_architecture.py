"""What protects the measurements is tried in a fresh interpreter: what is loaded, and what that
changes. The other rules of imports are import-linter's, in pyproject.toml.
"""

import json
import subprocess
import sys
from functools import cache

LIST_MODULES = """
import importlib, json, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(getattr(package, "__path__", ()), package.__name__ + "."):
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
    modules = modules_loaded_by("campaigns.domain")
    assert "campaigns.domain.plan.plan" in modules
    assert not {"django", "celery", "redis", "gevent"} & modules


def test_the_injector_loads_nothing_but_gevent_and_the_domain():
    for forbidden in ["django", "celery", "redis", "kombu", "psycopg"]:
        assert forbidden not in modules_loaded_by("workers.injector")


def test_the_agent_loads_only_pythons_own_library():
    """The site hands it out as one file."""
    modules = modules_loaded_by("workers.agent") - {"workers"}
    tops = {name.partition(".")[0] for name in modules if not name.startswith("workers.agent")}
    of_machine = {"sitecustomize", "usercustomize"}  # every Python on it loads these
    foreign = tops - sys.stdlib_module_names - {"__main__"} - of_machine
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
