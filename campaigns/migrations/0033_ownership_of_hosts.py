"""Projects show that hosts are their own: claims with a token, and proofs and approvals."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
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
    ("caps_set", "Caps set"),
    ("host_proven", "Host proven"),
    ("approval_asked", "Approval asked"),
    ("host_approved", "Host approved"),
    ("host_refused", "Host refused"),
    ("permit_withdrawn", "Permit withdrawn"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0032_search_baselines"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="HostClaim",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("host", models.CharField(max_length=253)),
                ("token", models.CharField(max_length=43)),
                ("asked_at", models.DateTimeField(blank=True, null=True)),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("places", models.JSONField(default=list)),
                ("faults", models.JSONField(default=list)),
                ("approval_asked_at", models.DateTimeField(blank=True, null=True)),
                ("approval_asked_by", models.CharField(blank=True, max_length=150)),
                ("approval_reason", models.CharField(blank=True, max_length=300)),
                ("refused_at", models.DateTimeField(blank=True, null=True)),
                ("refused_by", models.CharField(blank=True, max_length=150)),
                ("refusal", models.CharField(blank=True, max_length=300)),
                (
                    "asked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="host_claims",
                        to="campaigns.project",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "host"), name="one_claim_per_host")
                ],
            },
        ),
        migrations.CreateModel(
            name="HostPermit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("proof", "Proof"), ("approval", "Approval")], max_length=8
                    ),
                ),
                ("places", models.JSONField()),
                (
                    "given_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("given_by", models.CharField(blank=True, max_length=150)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_by", models.CharField(blank=True, max_length=150)),
                ("withdrawal", models.CharField(blank=True, max_length=300)),
                (
                    "claim",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="permits",
                        to="campaigns.hostclaim",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("withdrawn_at", None)),
                        fields=("claim", "kind"),
                        name="one_current_permit_per_kind",
                    )
                ],
            },
        ),
        migrations.AlterField(
            "auditentry", "deed", models.CharField(choices=_DEEDS, max_length=20)
        ),
    ]
