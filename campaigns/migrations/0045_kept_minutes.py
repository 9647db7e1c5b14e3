"""What stays of the seconds of old runs: a minute of each step."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0044_series_in_chunks")]

    operations = [
        migrations.CreateModel(
            "KeptMinute",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id", "minute", "step", blank=True, editable=False, primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="minutes",
                        to="campaigns.run",
                    ),
                ),
                ("minute", models.IntegerField()),
                ("step", models.PositiveIntegerField()),
                ("packed", models.BinaryField()),
            ],
        ),
    ]
