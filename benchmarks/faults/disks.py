"""The disks of the injector hosts' spools: small file systems of their own, quickly full, and such
that refuse each write at once, also to a file that is open.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

from local.base import LocalError

# A run needs 64 MiB free; without a journal this much leaves a few MiB more.
SIZE = "80M"


def make(folder: Path) -> None:
    """An empty disk, mounted on the folder. Raises LocalError."""
    image = folder.with_suffix(".ext4")
    folder.mkdir()
    for command in (
        f"truncate -s {SIZE} {image}",
        f"mkfs.ext4 -q -m 0 -O ^has_journal {image}",
        f"mount -o loop {image} {folder}",
    ):
        fault = _fault_of(command)
        if fault:
            raise LocalError(f"`{command}` failed: {fault}")


def forbid_writing(folder: Path) -> Callable[[], None]:
    """Make the disk read-only; returns how to make it writable again.

    While a file is open for writing, Linux refuses that. Then each file and the folder are made
    immutable, which on ext4 refuses the same: writes, new files, new names and deletions.
    """
    remount = f"mount -o remount,{{}} {folder}"
    if not _fault_of(remount.format("ro")):
        return lambda: _do(remount.format("rw"))
    _do(f"chattr -R +i {folder}")
    return lambda: _do(f"chattr -R -i {folder}")


def _do(command: str) -> None:
    subprocess.run(command.split(), capture_output=True, check=True)


def _fault_of(command: str) -> str:
    """What it says where it fails; "" where it does not."""
    try:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "install e2fsprogs and util-linux."
    return (done.stderr.strip() or f"status {done.returncode}") if done.returncode else ""
