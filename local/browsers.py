"""What tests hold the product against, the machine's own or Debian's packages if we are root:
Chromium, nginx and Apache.

The Chromium without windows (`chromium-headless-shell`) draws the same pages for a quarter to two
fifths less processor time, see docs/performance.md.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.base import LocalError, say, step
from local.setup import run_logged

WITHOUT_WINDOWS = "chromium-headless-shell"
NAMES = (WITHOUT_WINDOWS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# No outside connections, and nothing that a headless machine lacks.
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Some wrappers of Debian's package prompt on the terminal; apt must not prompt either.
APT_ENV = {"DEBIAN_FRONTEND": "noninteractive"}


def find_chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def ensure_chromium() -> str | None:
    """The path of a Chromium, installed if necessary; None after printing why not."""
    found = find_chromium()
    if found:
        return found
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
        found = find_chromium()
    if not found:
        say(
            "BROWSER TESTS SKIPPED: Chromium is not on PATH and cannot be installed here "
            f"(not root, or no apt-get). Install `{WITHOUT_WINDOWS}` or `chromium` to run them."
        )
    return found


def _install() -> None:
    """Debian has both packages; where the first is missing, the second does."""
    env = {**os.environ, **APT_ENV}
    install = ["apt-get", "install", "-y", "--no-install-recommends"]
    try:
        with step("Installing Chromium with apt-get (about 290 MB on disk)"):
            run_logged(["apt-get", "update"], "setup-apt", env)
            try:
                run_logged([*install, WITHOUT_WINDOWS], "setup-apt", env)
            except LocalError:
                run_logged([*install, "chromium"], "setup-apt", env)
    except LocalError as error:
        say(str(error))


def version_of(chromium: str) -> str:
    done = subprocess.run([chromium, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


@contextmanager
def launch(chromium: str) -> Iterator:
    """A running browser for playwright; Chromium's sandbox does not work as root."""
    from playwright.sync_api import sync_playwright

    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


PACKAGES = {"nginx": "nginx", "apache2": "apache2-bin"}
# What Debian's packages ask before they start a service.
_POLICY = Path("/usr/sbin/policy-rc.d")
_START_NOTHING = "#!/bin/sh\nexit 101\n"


def missing_servers() -> list[str]:
    path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"
    return [name for name in PACKAGES if shutil.which(name, path=path) is None]


def ensure_web_servers() -> None:
    """Install what is missing, or print what is skipped without it."""
    if missing_servers() and os.geteuid() == 0 and shutil.which("apt-get"):
        _install_servers([PACKAGES[name] for name in missing_servers()])
    if names := missing_servers():
        packages = " ".join(PACKAGES[name] for name in names)
        say(
            f"TESTS AGAINST {' AND '.join(names).upper()} SKIPPED: not installed, and cannot be "
            f"installed here (not root, or no apt-get). Install {packages} to run them."
        )


def _install_servers(packages: list[str]) -> None:
    env = {**os.environ, **APT_ENV}
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    try:
        with (
            step(f"Installing {' and '.join(packages)} with apt-get"),
            _services_stay_down(_POLICY),
        ):
            run_logged(["apt-get", "update"], "setup-apt-servers", env)
            run_logged(install, "setup-apt-servers", env)
    except LocalError as error:
        say(str(error))


@contextmanager
def _services_stay_down(policy: Path) -> Iterator[None]:
    """A test machine's port 80 is not ours to take. A policy that is there stays."""
    if policy.exists():
        yield
        return
    policy.write_text(_START_NOTHING)
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()
