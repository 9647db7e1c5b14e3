"""PostgreSQL refuses to run as root: then it runs as `nobody`, in folders that nobody can reach."""

import hashlib
import os
import pwd
import shutil
import tempfile
from pathlib import Path

from local.children import UnixUser
from local.console import LocalError
from local.paths import ROOT, others_may_reach

LONGEST_FOLDER = 80  # bytes; the socket's own name comes on top
_NOT_NEEDED = shutil.ignore_patterns("include", "vector*", "__pycache__")


def server_account() -> UnixUser | None:
    """`nobody` where we are root (no account is ever made), else None: whoever we are."""
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
    """Make a folder that only this account may open."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account and folder.stat().st_uid != account.uid:
        os.chown(folder, account.uid, account.gid)


def reachable_home(account: UnixUser | None, wanted: Path) -> Path:
    """`wanted`, or where the account cannot get there (root's home), a folder under /var/lib.

    `wanted` is then a link to it, so that the data are found where they are expected.
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
    """A folder of root's that belongs to this checkout's data or programs, and to no other."""
    mark = hashlib.sha256(str(checkout_or_var).encode()).hexdigest()[:12]
    return Path("/var/lib") / f"benchsite-{mark}"


def reachable_copy(account: UnixUser | None, folders: list[Path], version: str) -> Path:
    """The common parent of these program folders, copied out where the account cannot get in."""
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
    """An empty folder for a server's socket: in var/ if it can be, else a new one in /tmp.

    A socket's path has at most 107 bytes, and the account has to get there.
    """
    folder = var / "sockets" / name
    if len(str(folder)) > LONGEST_FOLDER or not (account is None or others_may_reach(var)):
        folder = Path(tempfile.mkdtemp(prefix="benchsite-", dir="/tmp"))
    shutil.rmtree(folder, ignore_errors=True)
    give_to(account, folder)
    return folder


def _open_to_others(folder: Path) -> None:
    """Others may do what the owner may, except writing: a checkout can be made under umask 077."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (mode >> 6 & 0o5) | (mode >> 3 & 0o50))
