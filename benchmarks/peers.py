"""The peers that no Linux distribution brings: k6 and Locust.

`make benchmark-peers` (`python -m benchmarks.peers`) gets them by their own package managers into
a folder of their own below var/, which may be deleted at any time. Those on the PATH will do too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from local.base import var_dir

K6, LOCUST = "go.k6.io/k6@v1.8.1", "locust==2.47.0"
HOW = "not here; `make benchmark-peers` gets it"


def folder() -> Path:
    return var_dir() / "peers"


def find(name: str) -> str | None:
    """The program of that name: ours before one on the PATH."""
    return shutil.which(name, path=f"{folder() / 'bin'}:{os.environ.get('PATH', '')}")


def main() -> int:
    """Get what is missing; 1 if something still is."""
    missing = 0
    for name, get in (("locust", _get_locust), ("k6", _get_k6)):
        if find(name) is None:
            print(f"Getting {name} …", flush=True)
            get(folder())
        there = find(name)
        print(f"{name}: {there}" if there else f"{name}: could not be got, see above.")
        missing += there is None
    return int(missing > 0)


def _get_locust(where: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(where)], check=False)
    subprocess.run([str(where / "bin" / "pip"), "install", "--quiet", LOCUST], check=False)


def _get_k6(where: Path) -> None:
    go = shutil.which("go")
    if go is None:
        print("k6 is built by Go, which is not installed (Debian: golang).")
        return
    # A few minutes: it is compiled.
    environment = {**os.environ, "GOBIN": str(where / "bin")}
    subprocess.run([go, "install", K6], env=environment, check=False)


if __name__ == "__main__":
    sys.exit(main())
