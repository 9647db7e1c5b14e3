"""A Chromium for the browser tests: the machine's own, or Debian's package if we are root.

The one without windows (`chromium-headless-shell`) draws the same pages for a quarter to two fifths
less processor time, see docs/performance.md.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from local.console import LocalError, say, step
from local.steps import run_logged

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
