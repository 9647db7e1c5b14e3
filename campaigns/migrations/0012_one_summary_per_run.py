"""A run has one summary, under the run's number. Of earlier ones the newest stays. Histograms are
stored beside the figures, and no longer in a second copy of these."""

import django.db.models.deletion
from django.db import migrations, models

_NEWEST = """
DELETE FROM campaigns_runsummary old USING campaigns_runsummary newer
WHERE newer.run_id = old.run_id AND newer.revision > old.revision
"""
_HISTOGRAMS = """
ALTER TABLE campaigns_runsummary ADD COLUMN histograms jsonb;
UPDATE campaigns_runsummary SET histograms = coalesce((
    SELECT jsonb_object_agg(timing.key, timing.value -> 'histogram')
    FROM jsonb_each(total -> 'timings') timing
), '{}');
ALTER TABLE campaigns_runsummary ALTER COLUMN histograms SET NOT NULL, DROP COLUMN total;
"""


def _index_of_run(apps, schema_editor):
    """The primary key has an index of its own."""
    with schema_editor.connection.cursor() as cursor:
        constraints = schema_editor.connection.introspection.get_constraints(
            cursor, "campaigns_runsummary"
        )
    for name, each in constraints.items():
        if each["columns"] == ["run_id"] and each["index"] and not each["unique"]:
            schema_editor.execute(f'DROP INDEX "{name}"')


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0011_caches_in_redis")]

    operations = [
        migrations.RunSQL(_NEWEST),
        migrations.RemoveConstraint("runsummary", "one_summary_per_revision"),
        migrations.RenameField("runsummary", "revision", "version"),
        migrations.AlterField("runsummary", "version", models.PositiveIntegerField(default=1)),
        migrations.RenameField("runsummary", "brief", "figures"),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(_HISTOGRAMS)],
            [
                migrations.RemoveField("runsummary", "total"),
                migrations.AddField("runsummary", "histograms", models.JSONField()),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            [
                migrations.RunSQL(
                    "ALTER TABLE campaigns_runsummary DROP COLUMN id, ADD PRIMARY KEY (run_id)"
                ),
                migrations.RunPython(_index_of_run),
            ],
            [
                migrations.RemoveField("runsummary", "id"),
                migrations.AlterField(
                    "runsummary",
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="summary",
                        serialize=False,
                        to="campaigns.run",
                    ),
                ),
            ],
        ),
    ]
