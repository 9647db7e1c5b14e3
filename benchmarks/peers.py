"""The peer that no Linux distribution brings: k6.

`make benchmark-peers` (`python -m benchmarks.peers`) gets it by Go into a folder of its own below
var/, which may be deleted at any time. One on the PATH will do too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from local.base import var_dir

K6 = "go.k6.io/k6@v1.8.1"
HOW = "not here; `make benchmark-peers` gets it"


def folder() -> Path:
    return var_dir() / "peers"


def find(name: str) -> str | None:
    """The program of that name: ours before one on the PATH."""
    return shutil.which(name, path=f"{folder() / 'bin'}:{os.environ.get('PATH', '')}")


def main() -> int:
    """Get it if it is missing; 1 if it still is."""
    if find("k6") is None:
        _get_k6(folder())
    there = find("k6")
    print(f"k6: {there}" if there else "k6: could not be got, see above.")
    return int(there is None)


def _get_k6(where: Path) -> None:
    go = shutil.which("go")
    if go is None:
        print("k6 is built by Go, which is not installed (Debian: golang).")
        return
    print("Getting k6, which takes minutes: it is compiled …", flush=True)
    environment = {**os.environ, "GOBIN": str(where / "bin")}
    subprocess.run([go, "install", K6], env=environment, check=False)


if __name__ == "__main__":
    sys.exit(main())
