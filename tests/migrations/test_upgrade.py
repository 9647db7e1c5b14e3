"""The database of each release migrates to today's, and its results are still read."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from campaigns.domain.analysis.judgement import Judgement
from local.servers import binaries

RELEASES = sorted(Path(__file__).parent.glob("release_*.sql.gz"))
# As the pages' own tests, but in a process of its own: its settings name the upgraded database.
READ = """
import json
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.urls import reverse
from django.contrib.auth.models import User
from campaigns.models import Campaign, Run
executor = MigrationExecutor(connection)
client = Client(headers={"Host": "localhost"})
client.force_login(User.objects.get(username="alice"))
paths = [reverse("campaign-detail", args=[each.pk]) for each in Campaign.objects.all()]
for run in Run.objects.filter(state="done"):
    paths += [reverse(name, args=[run.pk]) for name in ("run-detail", "api-run-seconds")]
print(json.dumps({
    "unapplied": len(executor.migration_plan(executor.loader.graph.leaf_nodes())),
    "statuses": {path: client.get(path).status_code for path in paths},
}))
"""

COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
WHERE table_schema = 'public'
"""
# What 0.2.0 said of a run that was disturbed, and of one that is of no use.
_REASON = {"text": "It ran late.", "value": 5.0, "limit": 1.0, "second": 3}
DISTURBED = {
    "measurement": {
        "state": "doubtful",
        "reasons": [
            {"code": code, "state": "doubtful", **_REASON} for code in ("hub_lag_p99", "hub_lag")
        ],
    },
    "target": {"state": "healthy", "reasons": []},
    "precision": {"state": "fine", "reasons": []},
    "notes": [],
}


# What people said of changes in 0.2.0.
TRIAGE = """
WITH entry AS (
    INSERT INTO campaigns_triageentry (project_id, target_id, state, found_at)
    SELECT project_id, id, state, found_at::timestamptz
    FROM (SELECT * FROM campaigns_target ORDER BY id LIMIT 1) target,
        (VALUES ('expected', '2026-11-01'), ('not_real', '2026-11-02'), ('open', '2026-11-03'))
            states (state, found_at)
    RETURNING id, state
)
INSERT INTO campaigns_triagenote (entry_id, state, by_id, at, why, link)
SELECT entry.id, said.state, CASE WHEN n = 2 THEN (SELECT min(id) FROM auth_user) END, now(),
    why, link
FROM entry JOIN (VALUES
    (1, 'expected', 'acknowledged', 'Looking.', 'https://x.y/1'),
    (2, 'expected', 'expected', 'Tax is looked up.', 'https://x.y/2'),
    (3, 'not_real', 'not_real', '', ''),
    (4, 'open', 'open', 'Again.', '')
) said (n, entry_state, state, why, link) ON entry.state = entry_state
ORDER BY n
"""


@pytest.fixture
def database(db):
    """(the address of an empty database on the tests' server, as programs take it)."""
    name = f"{connection.settings_dict['NAME']}_upgraded"
    server = settings.DATABASE_URL
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.long
@pytest.mark.parametrize("dump", RELEASES, ids=lambda path: path.name)
def test_a_release_s_database_becomes_todays_and_is_read(database, dump):
    psql = binaries() / "psql"
    command = [psql, "-q", "-X", "-v", "ON_ERROR_STOP=1", database]
    sql = gzip.decompress(dump.read_bytes())
    subprocess.run(command, input=sql, check=True, timeout=60, stdout=subprocess.DEVNULL)
    with psycopg.connect(database) as old:
        old.execute(
            "UPDATE campaigns_run SET trust = 'doubtful', judgement = %s WHERE state = 'done'",
            [json.dumps(DISTURBED)],
        )
        old.execute(TRIAGE)
    # Static files have no hashed names in the tests' settings.
    env = {**os.environ, "DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    env.pop("PYTEST_XDIST_WORKER", None)

    def manage(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    manage("migrate", "-v", "0")
    report = json.loads(manage("shell", "-v", "0", "-c", READ).splitlines()[-1])
    assert report["unapplied"] == 0
    with psycopg.connect(database) as new, connection.cursor() as todays:
        columns = set(new.execute(COLUMNS).fetchall())
        todays.execute(COLUMNS)
        assert columns == set(todays.fetchall()), "a released migration was changed"
        rows = new.execute("SELECT trust, judgement FROM campaigns_run WHERE state = 'done'")
        for trust, judgement in rows:
            measurement = Judgement.from_row(judgement).measurement
            assert (trust, measurement.state) == ("trusted", "trusted")
            assert [(each.code, each.state) for each in measurement.reasons] == [
                ("late", ""), ("stall", ""),
            ]  # fmt: skip
        entries = new.execute(
            "SELECT note, link, acknowledged_at IS NULL, acknowledged_by_id IS NULL "
            "FROM campaigns_triageentry ORDER BY found_at"
        )
        assert entries.fetchall()[:3] == [
            ("Looking. https://x.y/1\nExpected: Tax is looked up.", "https://x.y/2", False, False),
            ("Not Real", "", False, True),
            ("Again.", "", True, True),
        ]
    assert len(report["statuses"]) > 4
    assert set(report["statuses"].values()) == {200}


def test_there_is_a_dump_of_the_release_that_is_shown():
    assert f"release_{settings.VERSION.replace('.', '_')}.sql.gz" in [p.name for p in RELEASES]
