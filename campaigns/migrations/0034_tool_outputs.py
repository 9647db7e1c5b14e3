"""What tools printed on targets' machines is kept with its run."""

import django.db.models.deletion
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
    ("output_added", "Output added"),
    ("caps_set", "Caps set"),
    ("host_proven", "Host proven"),
    ("approval_asked", "Approval asked"),
    ("host_approved", "Host approved"),
    ("host_refused", "Host refused"),
    ("permit_withdrawn", "Permit withdrawn"),
]
_TOOLS = ["perf stat", "vmstat", "sar", "sadf -j", "time -v"]


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0033_ownership_of_hosts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            "auditentry", "deed", models.CharField(choices=_DEEDS, max_length=20)
        ),
        migrations.CreateModel(
            name="ToolOutput",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "tool",
                    models.CharField(choices=[(each, each) for each in _TOOLS], max_length=20),
                ),
                ("text", models.TextField()),
                ("read", models.JSONField()),
                ("added_at", models.DateTimeField(auto_now_add=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tool_outputs",
                        to="campaigns.run",
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
    ]
