"""Summaries in brief, and the percentiles of each test's runs together. Of what earlier releases
stored, the general worker makes them, the newest first (services/kept_briefs.py)."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0046_own_tls_profiles")]

    operations = [
        migrations.AddField("runsummary", "brief", models.JSONField(null=True)),
        migrations.AddIndex(
            "runsummary",
            models.Index(
                condition=models.Q(("brief__isnull", True)),
                fields=["id"],
                name="summary_without_brief",
            ),
        ),
        migrations.CreateModel(
            "PooledPercentiles",
            [
                (
                    "test",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="pooled",
                        serialize=False,
                        to="campaigns.test",
                    ),
                ),
                (
                    "of",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None
                    ),
                ),
                ("known", models.JSONField()),
            ],
        ),
    ]
