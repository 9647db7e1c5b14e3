"""Before its first run a campaign sends one request for each of its plans and endpoints."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F


def open_those_that_have_started(apps, schema_editor):
    campaigns = apps.get_model("campaigns", "Campaign")
    campaigns.objects.filter(started_at__isnull=False).update(opened_at=F("started_at"))


def _of(model: str, name: str) -> models.ForeignKey:
    return models.ForeignKey(
        f"campaigns.{model}",
        blank=True,
        null=True,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=name,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0016_figures_of_runs"),
    ]

    operations = [
        migrations.AddField("campaign", "opened_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("campaign", "held_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("probe", "plan_version", _of("planversion", "probes")),
        migrations.AddField("probe", "campaign", _of("campaign", "first_requests")),
        migrations.AddConstraint(
            "probe",
            models.UniqueConstraint(
                condition=models.Q(campaign__isnull=False),
                fields=("campaign", "plan_version", "endpoint"),
                name="one_first_request_per_cell",
            ),
        ),
        migrations.RunPython(open_those_that_have_started, migrations.RunPython.noop),
    ]
