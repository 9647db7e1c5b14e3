"""Whether the installation may send load."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("campaigns", "0019_share_links_hide_machines"),
    ]

    operations = [
        migrations.CreateModel(
            "LoadControl",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("is_on", models.BooleanField(default=True)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("changed_at", models.DateTimeField(null=True)),
                ("dispatcher_seen_at", models.DateTimeField(null=True)),
                ("identity", models.CharField(blank=True, max_length=60)),
                (
                    "changed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
