"""New summaries have their points in chunks of columns. Older ones keep their list."""

import json
import zlib

import django.contrib.postgres.fields
from django.db import migrations, models

TABLE = "campaigns_runsummary"
# A chunk is compressed already.
FORWARD = f"""
ALTER TABLE {TABLE} ADD COLUMN chunks bytea[], ALTER COLUMN chunks SET STORAGE EXTERNAL,
    ALTER COLUMN series DROP NOT NULL;
"""
BACKWARD = f"ALTER TABLE {TABLE} DROP COLUMN chunks, ALTER COLUMN series SET NOT NULL;"


def to_lists(apps, schema_editor) -> None:
    """One summary at a time: a long run's points are many."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(f"SELECT id FROM {TABLE} WHERE chunks IS NOT NULL ORDER BY id")
        for (pk,) in cursor.fetchall():
            (chunks,) = cursor.execute(f"SELECT chunks FROM {TABLE} WHERE id = %s", [pk]).fetchone()
            points = [point for chunk in chunks for point in _points(chunk)]
            cursor.execute(
                f"UPDATE {TABLE} SET series = %s WHERE id = %s", [json.dumps(points), pk]
            )


def _points(chunk: bytes) -> list[dict]:
    columns = json.loads(zlib.decompress(chunk))
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0043_packed_seconds")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(FORWARD, BACKWARD),
                migrations.RunPython(migrations.RunPython.noop, to_lists),
            ],
            state_operations=[
                migrations.RemoveField("runsummary", "series"),
                migrations.AddField(
                    "runsummary", "old_series", models.JSONField(db_column="series", null=True)
                ),
                migrations.AddField(
                    "runsummary",
                    "chunks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BinaryField(), null=True, size=None
                    ),
                ),
            ],
        ),
    ]
