"""The virtual environment in .venv, even without ensurepip, which Debian packages separately."""

import hashlib
import html
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from local.console import LocalError, step
from local.paths import ROOT, VENV, VENV_PYTHON
from local.steps import digest_of, is_stamped, run_logged

# Downloaded if the machine's Python has no pip; pip's wheel can run itself.
PIP_WHEEL = "pip-26.3-py3-none-any.whl"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


def ensure_venv() -> None:
    """Create a .venv with pip for the Python that runs this."""
    if _venv_works():
        return
    with step(f"Creating a virtual environment in .venv with Python {sys.version.split()[0]}"):
        shutil.rmtree(VENV, ignore_errors=True)
        if importlib.util.find_spec("ensurepip"):
            run_logged([sys.executable, "-m", "venv", str(VENV)], "setup")
        else:
            run_logged([sys.executable, "-m", "venv", "--without-pip", str(VENV)], "setup")
            _install_pip()


def ensure_packages(requirements: str) -> None:
    """Install a requirements file's pinned packages if the file has changed."""
    files = _files_of(requirements)
    if all(is_stamped(_stamp(file), _digest(file)) for file in files):
        return
    with step(f"Installing the Python packages of {requirements} (about half a minute)"):
        pip_install("-r", requirements)
    for file in files:
        _stamp(file).write_text(_digest(file))


def pip_install(*what: str) -> None:
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    run_logged([str(VENV_PYTHON), "-m", "pip", "install", *quiet, *what], "setup-pip")


def _stamp(file: Path) -> Path:
    return VENV / f".installed-{file.name}"


def _digest(file: Path) -> str:
    return digest_of(file, sys.version_info[:2])


def _venv_works() -> bool:
    """Whether .venv has pip, whole, and an executable Python 3.11 or newer."""
    # It comes with no wheel: who installs pip writes it when all else is there.
    mark = next(VENV.glob("lib/python3.*/site-packages/pip-*.dist-info/INSTALLER"), None)
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
        into = ["--python", str(VENV_PYTHON), "install", "--disable-pip-version-check", "pip"]
        run_logged([sys.executable, "-m", "pip", *into], "setup")
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
