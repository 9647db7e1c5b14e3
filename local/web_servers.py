"""nginx and Apache, which the injector's HTTP/2 is held against in tests: the machine's own, or
Debian's packages if we are root. Apache's is the one without a service.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.browsers import APT_ENV
from local.console import LocalError, say, step
from local.steps import run_logged

PACKAGES = {"nginx": "nginx", "apache2": "apache2-bin"}
# What Debian's packages ask before they start a service.
_POLICY = Path("/usr/sbin/policy-rc.d")
_START_NOTHING = "#!/bin/sh\nexit 101\n"


def missing() -> list[str]:
    path = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}/usr/sbin"
    return [name for name in PACKAGES if shutil.which(name, path=path) is None]


def ensure_web_servers() -> None:
    """Install what is missing, or print what is skipped without it."""
    if missing() and os.geteuid() == 0 and shutil.which("apt-get"):
        _install([PACKAGES[name] for name in missing()])
    if names := missing():
        packages = " ".join(PACKAGES[name] for name in names)
        say(
            f"TESTS AGAINST {' AND '.join(names).upper()} SKIPPED: not installed, and cannot be "
            f"installed here (not root, or no apt-get). Install {packages} to run them."
        )


def _install(packages: list[str]) -> None:
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
