"""Pages of campaigns that have ended, kept for all processes."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0047_summaries_in_brief")]

    operations = [
        migrations.CreateModel(
            name="KeptPage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=32)),
                ("content", models.BinaryField()),
                (
                    "kept_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="kept_pages",
                        to="campaigns.campaign",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("campaign", "key"), name="one_kept_page_per_key"
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="campaign",
            index=models.Index(
                fields=["-finished_at", "-id"],
                condition=models.Q(("finished_at__isnull", False)),
                name="campaign_last_ended_first",
            ),
        ),
    ]
