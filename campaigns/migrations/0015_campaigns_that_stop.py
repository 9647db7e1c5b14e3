"""A campaign stops after a run in which everything failed, unless it was told to go on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0014_failure_examples"),
    ]

    operations = [
        migrations.AddField("campaign", "keeps_going", models.BooleanField(default=False)),
        migrations.AddField("campaign", "stop_reason", models.TextField(blank=True, default="")),
    ]
