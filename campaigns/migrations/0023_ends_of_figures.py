from django.db import migrations, models

# What was measured before has one end.
_KNOWN = """
UPDATE campaigns_testfigures AS figures SET ends_us = known.ends_us
FROM (
    SELECT test_id, jsonb_object_agg(metric, jsonb_build_array(NULL, us)) AS ends_us
    FROM campaigns_testfigures, LATERAL (VALUES
        ('mean', (SELECT avg(each) FROM unnest(mean_us) AS each)),
        ('p50', (SELECT avg(each) FROM unnest(p50_us) AS each)),
        ('p95', (SELECT avg(each) FROM unnest(p95_us) AS each)),
        ('p99', (SELECT avg(each) FROM unnest(p99_us) AS each))
    ) AS figure (metric, us)
    WHERE us IS NOT NULL
    GROUP BY test_id
) AS known
WHERE figures.test_id = known.test_id
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0022_one_way_to_machines")]

    operations = [
        migrations.AddField("run", "lows_us", models.JSONField(default=dict)),
        migrations.AddField("testfigures", "ends_us", models.JSONField(default=dict)),
        migrations.RunSQL(_KNOWN, migrations.RunSQL.noop),
    ]
