"""Searches for a capacity; their campaigns may have more than 50 trials."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0023_audit"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Search",
            fields=[
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="search",
                        serialize=False,
                        to="campaigns.campaign",
                    ),
                ),
                ("start_per_s", models.FloatField()),
                ("limit_per_s", models.FloatField()),
                ("trial_s", models.FloatField()),
                ("deadline", models.DateTimeField()),
                (
                    "ending",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("found", "found"),
                            ("injector", "injector"),
                            ("limit", "limit"),
                            ("below", "below"),
                            ("drifted", "drifted"),
                            ("deadline", "deadline"),
                            ("stopped", "stopped"),
                            ("silent", "silent"),
                        ],
                        max_length=10,
                        null=True,
                    ),
                ),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="campaign",
            name="campaign_repeats_range",
        ),
        migrations.AddConstraint(
            model_name="campaign",
            constraint=models.CheckConstraint(
                condition=models.Q(("repeats__gte", 1), ("repeats__lte", 200)),
                name="campaign_repeats_range",
            ),
        ),
        migrations.AddConstraint(
            model_name="search",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("limit_per_s__gte", models.F("start_per_s")), ("start_per_s__gt", 0)
                ),
                name="search_starts_within_its_limit",
            ),
        ),
    ]
