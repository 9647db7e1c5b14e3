"""The virtual environment in .venv: by uv where it can be had, else by pip, even without ensurepip,
which Debian packages separately.
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

from local.console import LocalError, step
from local.paths import ROOT, VENV, VENV_PYTHON
from local.steps import digest_of, is_stamped, run_logged

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
    """By uv if it is there, which takes a fifth of pip's time."""
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
