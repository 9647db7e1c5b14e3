"""PostgreSQL refuses to run as root: it then runs as `nobody`, in folders open to that account."""

import hashlib
import os
import pwd
import shutil
import tempfile
from pathlib import Path

from local.children import UnixUser
from local.console import LocalError
from local.paths import ROOT, others_may_reach

LONGEST_FOLDER = 80  # bytes, without the socket's own name
_NOT_NEEDED = shutil.ignore_patterns("include", "vector*", "__pycache__")


def server_account() -> UnixUser | None:
    """`nobody` if we are root (no account is ever created), else None: our own account."""
    if os.geteuid() != 0:
        return None
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise LocalError(
            "PostgreSQL refuses to run as root, and there is no account `nobody`. "
            "Run make as a regular user, or set DATABASE_URL."
        ) from None
    return UnixUser(nobody.pw_uid, nobody.pw_gid)


def give_to(account: UnixUser | None, folder: Path) -> None:
    """Create a folder that only this account can open."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account and folder.stat().st_uid != account.uid:
        os.chown(folder, account.uid, account.gid)


def reachable_home(account: UnixUser | None, wanted: Path) -> Path:
    """`wanted`, or if the account cannot access it (root's home), a folder under /var/lib.

    `wanted` is then a link to that folder, so that the data are in the expected place.
    """
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if account is None or others_may_reach(wanted.parent):
        return wanted
    home = outside_home(wanted.parent) / wanted.name
    home.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not wanted.exists() and not wanted.is_symlink():
        wanted.symlink_to(home)
    return home


def outside_home(checkout_or_var: Path) -> Path:
    """A folder owned by root and unique to this checkout's data or programs."""
    mark = hashlib.sha256(str(checkout_or_var).encode()).hexdigest()[:12]
    return Path("/var/lib") / f"benchsite-{mark}"


def reachable_copy(account: UnixUser | None, folders: list[Path], version: str) -> Path:
    """The common parent of these program folders, or a copy if the account cannot access it."""
    parent = folders[0].parent
    if account is None or all(others_may_reach(folder) for folder in folders):
        return parent
    place = outside_home(ROOT) / f"programs-{version}"
    if not place.exists():
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=place.parent))
        for folder in folders:
            shutil.copytree(folder, fresh / folder.name, symlinks=True, ignore=_NOT_NEEDED)
        _open_to_others(fresh)
        fresh.rename(place)
    return place


def socket_dir(account: UnixUser | None, var: Path, name: str) -> Path:
    """An empty folder for a server's socket: in var/ if possible, else a new one in /tmp.

    A socket's path has at most 107 bytes, and the account must be able to access it.
    """
    folder = var / "sockets" / name
    if len(str(folder)) > LONGEST_FOLDER or not (account is None or others_may_reach(var)):
        folder = Path(tempfile.mkdtemp(prefix="benchsite-", dir="/tmp"))
    shutil.rmtree(folder, ignore_errors=True)
    give_to(account, folder)
    return folder


def _open_to_others(folder: Path) -> None:
    """Give others the owner's permissions except writing: umask may have been 077 at checkout."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (mode >> 6 & 0o5) | (mode >> 3 & 0o50))
