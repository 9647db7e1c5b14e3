"""Triage is acknowledge, note and link. What people said becomes the entry's note, oldest first,
with its state where that says why; the newest link is the entry's. Whatever was not open is
acknowledged, by who spoke last."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

KEEP = """
WITH said AS (
    SELECT entry_id, id, at, by_id, link,
        id = max(id) FILTER (WHERE link <> '') OVER (PARTITION BY entry_id) AS has_newest_link,
        CASE WHEN state IN ('open', 'acknowledged') THEN why
            ELSE rtrim(initcap(replace(state, '_', ' ')) || ': ' || why, ': ') END AS words
    FROM campaigns_triagenote
), kept AS (
    SELECT entry_id, max(at) AS at, (array_agg(by_id ORDER BY id DESC))[1] AS by_id,
        max(link) FILTER (WHERE has_newest_link) AS link,
        string_agg(
            nullif(concat_ws(' ', nullif(words, ''),
                             CASE WHEN NOT has_newest_link THEN nullif(link, '') END), ''),
            E'\\n' ORDER BY id) AS note
    FROM said GROUP BY entry_id
)
UPDATE campaigns_triageentry entry SET
    note = coalesce(kept.note, ''),
    link = coalesce(kept.link, ''),
    acknowledged_at = CASE WHEN entry.state = 'open' THEN NULL ELSE kept.at END,
    acknowledged_by_id = CASE WHEN entry.state = 'open' THEN NULL ELSE kept.by_id END
FROM kept WHERE kept.entry_id = entry.id;
UPDATE campaigns_triageentry SET acknowledged_at = found_at
WHERE state <> 'open' AND acknowledged_at IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("campaigns", "0025_rounds_of_shards"),
    ]

    operations = [
        migrations.AddField("triageentry", "acknowledged_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "triageentry",
            "acknowledged_by",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField("triageentry", "note", models.TextField(blank=True, default="")),
        migrations.AddField(
            "triageentry", "link", models.CharField(blank=True, default="", max_length=500)
        ),
        migrations.RunSQL(KEEP),
        migrations.RemoveIndex("triageentry", "triage_by_state"),
        migrations.RemoveField("triageentry", "state"),
        migrations.AddIndex(
            "triageentry",
            models.Index(
                condition=models.Q(acknowledged_at=None),
                fields=["project"],
                name="open_triage_of_project",
            ),
        ),
        migrations.DeleteModel("TriageNote"),
    ]
