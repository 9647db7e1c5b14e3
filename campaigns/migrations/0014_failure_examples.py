"""Examples of failed requests with their replies, by a natural key as seconds have one."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0013_failures_of_runs"),
    ]

    operations = [
        migrations.CreateModel(
            name="FailureExample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("shard", models.PositiveIntegerField()),
                ("second", models.IntegerField()),
                ("step", models.PositiveIntegerField()),
                ("kind", models.CharField(max_length=40)),
                ("status", models.PositiveIntegerField()),
                ("at_us", models.BigIntegerField()),
                ("request", models.TextField()),
                ("reply", models.TextField()),
                ("body_bytes", models.BigIntegerField(null=True)),
                ("detail", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="failure_examples",
                        to="campaigns.run",
                    ),
                ),
            ],
            options={"ordering": ["at_us", "pk"]},
        ),
        migrations.AddConstraint(
            model_name="failureexample",
            constraint=models.UniqueConstraint(
                fields=("run", "shard", "second", "step", "kind", "status"),
                name="one_example_per_second",
            ),
        ),
    ]
