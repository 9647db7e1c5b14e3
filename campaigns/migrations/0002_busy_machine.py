"""Busy machines: how far a run is good, what else uses a host, and campaigns that wait for quiet."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0001_release_0_2_0'),
    ]

    operations = [
        # What was inconclusive is bounded by its interval.
        *(
            migrations.RunSQL(
                f"""UPDATE {table} SET against = jsonb_set(against, '{{word}}', '"too close to call"')
                WHERE against->>'word' = 'inconclusive'""",
                migrations.RunSQL.noop,
            )
            for table in ("campaigns_testfigures", "campaigns_search")
        ),
        migrations.AddField("injectorhost", "use", models.JSONField(null=True)),
        migrations.AddField("campaign", "quiet_by", models.DateTimeField(null=True, blank=True)),
        migrations.AddField("run", "typical_us", models.FloatField(null=True, blank=True)),
        migrations.AddField(
            "testfigures",
            "typical_us",
            ArrayField(models.FloatField(), default=list),
        ),
        *(
            migrations.RunSQL(f"UPDATE {table} SET typical_us = p50_us", migrations.RunSQL.noop)
            for table in ("campaigns_run", "campaigns_testfigures")
        ),
        migrations.AlterField(
            model_name='run',
            name='trust',
            field=models.CharField(blank=True, choices=[('trusted', 'trusted'), ('doubtful', 'doubtful'), ('busy', 'busy'), ('not_usable', 'not_usable')], max_length=10, null=True),
        ),
    ]
