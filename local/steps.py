"""A set-up step: logs its output, and leaves a stamp when done."""

import hashlib
import subprocess
from pathlib import Path

from local.console import LocalError
from local.paths import ROOT, tail, var_dir


def run_logged(command: list[str], name: str, env: dict[str, str] | None = None) -> None:
    """Run a step with its output in var/log; on failure, report the end of that output."""
    log = var_dir() / "log" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=env, stdout=output, stderr=subprocess.STDOUT, check=False
            )
        except OSError as error:
            raise LocalError(f"Cannot start {command[0]}: {error}.") from None
    if done.returncode:
        shown = " ".join(Path(part).name if part.startswith("/") else part for part in command[:4])
        raise LocalError(f"`{shown} …` failed. Last lines of {log}:\n{tail(log)}")


def digest_of(*parts: object) -> str:
    """A stamp's content: changes if any of the files or texts does."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, Path) else str(part).encode())
    return total.hexdigest()


def is_stamped(stamp: Path, digest: str) -> bool:
    return stamp.exists() and stamp.read_text() == digest
