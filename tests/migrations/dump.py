"""Writes the database of a release with one of everything, for test_upgrade.py to migrate:

    .venv/bin/python -m tests.migrations.dump 0.2.0

Done once, when a release is made; never again for that release.
"""

import gzip
import os
import subprocess
import sys
from pathlib import Path

from local.servers import binaries, plain_env, throw_away_servers

HERE = Path(__file__).parent
FILL = "from tests.access_world import make_world; make_world()"


def main(version: str) -> None:
    with throw_away_servers() as (_, env):
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "-v", "0"], env=env, check=True)
        subprocess.run([*manage, "shell", "-v", "0", "-c", FILL], env=env, check=True)
        dump = subprocess.run(
            [binaries() / "pg_dump", "--no-owner", env["DATABASE_URL"]],
            env=plain_env(),
            check=True,
            capture_output=True,
        )
    path = HERE / f"release_{version.replace('.', '_')}.sql.gz"
    path.write_bytes(gzip.compress(dump.stdout, mtime=0))
    print(f"{path.relative_to(Path.cwd())}: {os.path.getsize(path):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
