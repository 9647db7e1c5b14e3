"""Where things stand in a checkout, and whether another account may reach them."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
NODE_MODULES = ROOT / "node_modules"


def var_dir() -> Path:
    """Everything that this machine makes and keeps: data, logs, the secret key."""
    return Path(os.environ.get("BENCHSITE_VAR") or ROOT / "var").resolve()


def is_inside_venv() -> bool:
    return Path(sys.prefix).resolve() == VENV.resolve()


def others_may_reach(path: Path) -> bool:
    """Whether every folder on the way, and the path itself, lets any account through."""
    path = path.resolve()
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents) if each.is_dir())


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log, indented, for a message that says why something failed."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])
