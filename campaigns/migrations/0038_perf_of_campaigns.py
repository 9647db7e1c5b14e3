"""A campaign may have the agents of its targets count by perf stat."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0037_exporters")]

    operations = [
        migrations.AddField(
            model_name="campaign",
            name="perf",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", ""),
                    ("processes", "the watched processes"),
                    ("machine", "the whole machine"),
                ],
                default="",
                max_length=10,
            ),
        )
    ]
