"""Paths of a checkout, and whether other accounts can access them."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
NODE_MODULES = ROOT / "node_modules"


def var_dir() -> Path:
    """The folder of all local state: data, logs, the secret key."""
    return Path(os.environ.get("BENCHSITE_VAR") or ROOT / "var").resolve()


def is_inside_venv() -> bool:
    return Path(sys.prefix).resolve() == VENV.resolve()


def others_may_reach(path: Path) -> bool:
    """Whether any account can access the path and all folders above it."""
    path = path.resolve()
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents) if each.is_dir())


def closed(folder: Path, mode: int = 0o700) -> Path:
    """The folder, created if it is missing, with these rights: by default only for its owner."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    return folder


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log, indented, for an error message."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])
