"""The audit log, which the database only lets grow."""

from django.db import migrations, models
from django.db.models.functions import Now

_DEEDS = [
    ("signed_in", "Signed in"),
    ("password_changed", "Password changed"),
    ("token_created", "Token created"),
    ("token_revoked", "Token revoked"),
    ("member_added", "Member added"),
    ("role_changed", "Role changed"),
    ("member_removed", "Member removed"),
    ("secret_stored", "Secret stored"),
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
]
_ONLY_GROWS = """
CREATE FUNCTION campaigns_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Entries of the audit log are never changed or deleted.';
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON campaigns_auditentry
    FOR EACH ROW EXECUTE FUNCTION campaigns_audit_only_grows();
"""
_MAY_CHANGE = """
DROP TRIGGER only_grows ON campaigns_auditentry;
DROP FUNCTION campaigns_audit_only_grows();
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0022_histories")]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_default=Now())),
                ("project", models.BigIntegerField(null=True)),
                ("project_name", models.CharField(blank=True, max_length=150)),
                ("who", models.CharField(blank=True, max_length=150)),
                ("token", models.CharField(blank=True, max_length=100)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("deed", models.CharField(choices=_DEEDS, max_length=20)),
                ("what", models.CharField(blank=True, max_length=300)),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [models.Index(fields=["project", "id"], name="audit_of_project")],
            },
        ),
        migrations.RunSQL(_ONLY_GROWS, _MAY_CHANGE),
    ]
