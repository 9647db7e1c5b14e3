"""What runs under way have measured, added up."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0049_groups_as_lists_have_them")]

    operations = [
        migrations.CreateModel(
            name="MeasuredSoFar",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="so_far",
                        serialize=False,
                        to="campaigns.run",
                    ),
                ),
                ("last_second", models.IntegerField()),
                ("release", models.CharField(max_length=16)),
                ("packed", models.BinaryField()),
                (
                    "chunks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BinaryField(), size=None
                    ),
                ),
            ],
        ),
    ]
