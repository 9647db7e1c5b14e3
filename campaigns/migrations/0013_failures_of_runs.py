"""A run's summary has its failures by kind, status and step, with the seconds of each."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0012_tags_and_archive"),
    ]

    operations = [
        migrations.AddField("runsummary", "failures", models.JSONField(default=list)),
    ]
