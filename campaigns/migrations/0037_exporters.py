"""Prometheus exporters of targets."""

import django.db.models.deletion
from django.db import migrations, models

_DEEDS = [
    ("signed_in", "Signed in"),
    ("password_changed", "Password changed"),
    ("token_created", "Token created"),
    ("token_revoked", "Token revoked"),
    ("member_added", "Member added"),
    ("role_changed", "Role changed"),
    ("member_removed", "Member removed"),
    ("secret_stored", "Secret stored"),
    ("secret_bound", "Secret bound"),
    ("secret_deleted", "Secret deleted"),
    ("campaign_started", "Campaign started"),
    ("blocks_added", "Blocks added"),
    ("campaign_stopped", "Campaign stopped"),
    ("run_stopped", "Run stopped"),
    ("load_switched_off", "Load switched off"),
    ("load_allowed", "Load allowed"),
    ("shared", "Shared"),
    ("share_revoked", "Share revoked"),
    ("deleted", "Deleted"),
    ("output_added", "Output added"),
    ("caps_set", "Caps set"),
    ("host_proven", "Host proven"),
    ("approval_asked", "Approval asked"),
    ("host_approved", "Host approved"),
    ("host_refused", "Host refused"),
    ("permit_withdrawn", "Permit withdrawn"),
    ("exporter_set", "Exporter set"),
]


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0036_seconds_in_order")]

    operations = [
        migrations.AlterField(
            "auditentry", "deed", models.CharField(choices=_DEEDS, max_length=20)
        ),
        migrations.CreateModel(
            name="Exporter",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("url", models.CharField(max_length=600)),
                ("verify_tls", models.BooleanField(default=True)),
                ("is_server", models.BooleanField(default=False)),
                ("token", models.TextField(blank=True, default="", editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("asked_at", models.DateTimeField(blank=True, null=True)),
                ("told_at", models.DateTimeField(blank=True, null=True)),
                ("offers", models.JSONField(default=list)),
                ("problem", models.TextField(blank=True)),
                ("problem_at", models.DateTimeField(blank=True, null=True)),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="exporters",
                        to="campaigns.target",
                    ),
                ),
            ],
            options={"ordering": ["name", "pk"]},
        ),
        migrations.AddConstraint(
            model_name="exporter",
            constraint=models.UniqueConstraint(
                fields=("target", "name"), name="one_exporter_per_name"
            ),
        ),
    ]
