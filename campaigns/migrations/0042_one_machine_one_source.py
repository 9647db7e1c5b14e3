"""All that watch one machine are one source."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0041_output_bytes")]

    operations = [
        migrations.AddField("agent", "machine", models.CharField(blank=True, max_length=60)),
        migrations.AddField("exporter", "machine", models.CharField(blank=True, max_length=60)),
        migrations.AddField("machinesecond", "is_scraped", models.BooleanField(default=False)),
    ]
