"""What tools printed counts among the bytes that a project has stored."""

from django.db import migrations, models

# As services.use measures it.
_MEASURE = """
INSERT INTO campaigns_runuse (
    run_id, project_id, planned_s, planned_bytes, n_seconds, seconds_bytes, summary_bytes,
    example_bytes, output_bytes
)
SELECT run.id, campaign.project_id, 0, 0, 0, 0, 0, 0, sum(pg_column_size(output.*))
FROM campaigns_tooloutput output
JOIN campaigns_run run ON run.id = output.run_id
JOIN campaigns_campaign campaign ON campaign.id = run.campaign_id
GROUP BY run.id, campaign.project_id
ON CONFLICT (run_id) DO UPDATE SET output_bytes = excluded.output_bytes
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0040_kept_gists")]

    operations = [
        migrations.AddField("runuse", "output_bytes", models.BigIntegerField(default=0)),
        migrations.RunSQL(_MEASURE, migrations.RunSQL.noop),
    ]
