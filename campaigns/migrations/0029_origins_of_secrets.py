"""Secrets are sent only to origins; those that a plan was used with so far are its secret's."""

import django.contrib.postgres.fields
from django.db import migrations, models

# Plans and endpoints of campaigns that were started, and of requests that were tried.
KNOWN = """
UPDATE campaigns_plansecret AS secret SET origins = ARRAY(
    SELECT DISTINCT endpoint.scheme || '://'
        || CASE WHEN strpos(endpoint.host, ':') > 0
            THEN '[' || endpoint.host || ']' ELSE endpoint.host END
        || ':' || endpoint.port
    FROM campaigns_endpoint AS endpoint
    WHERE endpoint.id IN (
        SELECT test.endpoint_id FROM campaigns_test AS test
        JOIN campaigns_planversion AS version ON version.id = test.plan_version_id
        JOIN campaigns_campaign AS campaign ON campaign.id = test.campaign_id
        WHERE version.plan_id = secret.plan_id AND campaign.started_at IS NOT NULL
    ) OR endpoint.id IN (
        SELECT probe.endpoint_id FROM campaigns_probe AS probe
        WHERE probe.request ->> 'plan' = secret.plan_id::text
    )
);
"""

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
]


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0028_shards_that_store")]

    operations = [
        migrations.AddField(
            "plansecret",
            "origins",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=300), default=list, size=None
            ),
        ),
        migrations.AlterField(
            "auditentry", "deed", models.CharField(choices=_DEEDS, max_length=20)
        ),
        migrations.RunSQL(KNOWN, migrations.RunSQL.noop),
    ]
