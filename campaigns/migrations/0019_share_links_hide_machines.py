"""A share link shows addresses and facts about machines only where its creator says so."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0018_triage_and_shared_comparisons"),
    ]

    operations = [
        migrations.AddField("sharelink", "shows_machines", models.BooleanField(default=False)),
    ]
