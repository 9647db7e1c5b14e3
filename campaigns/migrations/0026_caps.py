"""Projects have caps and take turns; each run says what it uses. Older runs are measured here."""

import django.db.models.deletion
from django.db import migrations, models

# As services/use.py measures a run, for all runs that have ended.
MEASURE = """
    INSERT INTO campaigns_runuse (run_id, project_id, planned_s, planned_bytes, n_seconds,
        seconds_bytes, summary_bytes, example_bytes, measured_at)
    SELECT run.id, campaign.project_id, 0, 0, coalesce(seconds.n, 0), coalesce(seconds.size, 0),
        coalesce(summaries.size, 0), coalesce(examples.size, 0), run.ended_at
    FROM campaigns_run run
    JOIN campaigns_campaign campaign ON campaign.id = run.campaign_id
    LEFT JOIN (SELECT run_id, count(*) n, sum(pg_column_size(each.*)) size
        FROM campaigns_shardsecond each GROUP BY run_id) seconds ON seconds.run_id = run.id
    LEFT JOIN (SELECT run_id, sum(pg_column_size(each.*)) size
        FROM campaigns_runsummary each GROUP BY run_id) summaries ON summaries.run_id = run.id
    LEFT JOIN (SELECT run_id, sum(pg_column_size(each.*)) size
        FROM campaigns_failureexample each GROUP BY run_id) examples ON examples.run_id = run.id
    WHERE run.state = 'done'
"""

_DEEDS = [
    ("signed_in", "Signed in"),
    ("password_changed", "Password changed"),
    ("token_created", "Token created"),
    ("token_revoked", "Token revoked"),
    ("member_added", "Member added"),
    ("role_changed", "Role changed"),
    ("member_removed", "Member removed"),
    ("secret_stored", "Secret stored"),
    ("secret_deleted", "Secret deleted"),
    ("campaign_started", "Campaign started"),
    ("blocks_added", "Blocks added"),
    ("campaign_stopped", "Campaign stopped"),
    ("run_stopped", "Run stopped"),
    ("load_switched_off", "Load switched off"),
    ("load_allowed", "Load allowed"),
    ("shared", "Shared"),
    ("share_revoked", "Share revoked"),
    ("deleted", "Deleted"),
    ("caps_set", "Caps set"),
]


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0025_sweeps_of_plan_numbers")]

    operations = [
        migrations.AddField("project", "caps", models.JSONField(default=dict)),
        migrations.AddField("project", "admitted_at", models.DateTimeField(null=True)),
        migrations.CreateModel(
            "RunUse",
            [
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="use",
                        serialize=False,
                        to="campaigns.run",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="campaigns.project",
                    ),
                ),
                ("planned_s", models.FloatField(default=0)),
                ("planned_bytes", models.BigIntegerField(default=0)),
                ("n_seconds", models.BigIntegerField(default=0)),
                ("seconds_bytes", models.BigIntegerField(default=0)),
                ("summary_bytes", models.BigIntegerField(default=0)),
                ("example_bytes", models.BigIntegerField(default=0)),
                ("measured_at", models.DateTimeField(null=True)),
                ("thinned_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("thinned_at", None)),
                        fields=["measured_at"],
                        name="use_with_seconds_by_age",
                    )
                ]
            },
        ),
        migrations.AlterField(
            "auditentry", "deed", models.CharField(choices=_DEEDS, max_length=20)
        ),
        migrations.RunSQL(MEASURE, migrations.RunSQL.noop),
    ]
