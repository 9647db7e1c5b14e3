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
PACKAGES = {"nginx": "nginx", "apache2": "apache2-bin"}
# What Debian's packages ask before they start a service.
_POLICY = Path("/usr/sbin/policy-rc.d")
_START_NOTHING = "#!/bin/sh\nexit 101\n"


def find_chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def ensure_chromium() -> str | None:
    """The path of a Chromium, installed if necessary; None after printing why not."""
    if not find_chromium() and _is_apt_ours():
        with step("Installing Chromium with apt-get (about 290 MB on disk)"):
            # Debian has both; where the first is missing, the second does.
            _apt_install([WITHOUT_WINDOWS]) or _apt_install(["chromium"])
    if not (found := find_chromium()):
        say(
            "BROWSER TESTS SKIPPED: Chromium is not on PATH and cannot be installed here "
            f"(not root, or no apt-get). Install `{WITHOUT_WINDOWS}` or `chromium` to run them."
        )
    return found


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


def missing_servers() -> list[str]:
    path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"
    return [name for name in PACKAGES if shutil.which(name, path=path) is None]


def ensure_web_servers() -> None:
    """Install what is missing, or print what is skipped without it."""
    if (names := missing_servers()) and _is_apt_ours():
        with step(f"Installing {' and '.join(names)} with apt-get"), _services_stay_down(_POLICY):
            _apt_install([PACKAGES[name] for name in names])
    if names := missing_servers():
        packages = " ".join(PACKAGES[name] for name in names)
        say(
            f"TESTS AGAINST {' AND '.join(names).upper()} SKIPPED: not installed, and cannot be "
            f"installed here (not root, or no apt-get). Install {packages} to run them."
        )


def _is_apt_ours() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _apt_install(packages: list[str]) -> bool:
    """Whether that went well; prints why not."""
    # Some wrappers of Debian's package prompt on the terminal; apt must not prompt either.
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    try:
        run_logged(["apt-get", "update"], "setup-apt", env)
        run_logged(install, "setup-apt", env)
    except LocalError as error:
        say(str(error))
        return False
    return True


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
