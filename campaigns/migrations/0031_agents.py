"""Agents on targets' machines, and the seconds that they tell."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0030_search_answers")]

    operations = [
        migrations.CreateModel(
            name="Agent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("lookup", models.CharField(max_length=16, unique=True)),
                ("token_hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("host", models.CharField(blank=True, max_length=100)),
                ("watched", models.JSONField(default=list)),
                ("heard_since", models.DateTimeField(blank=True, null=True)),
                ("heard_at", models.DateTimeField(blank=True, null=True)),
                ("clock_ahead_s", models.FloatField(blank=True, null=True)),
                ("clock_error_s", models.FloatField(blank=True, null=True)),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agents",
                        to="campaigns.target",
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
        migrations.CreateModel(
            name="MachineSecond",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("source", models.CharField(max_length=100)),
                ("second", models.IntegerField()),
                ("lasted_s", models.FloatField()),
                ("busy_s", models.FloatField(null=True)),
                ("watched_s", models.FloatField(null=True)),
                ("did", models.JSONField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="machine_seconds",
                        to="campaigns.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "source", "second"), name="one_machine_second"
                    )
                ]
            },
        ),
    ]
