"""The time of a search begins with its first trial, and not while that waits."""

from django.db import migrations, models

_KNOWN = """
    UPDATE campaigns_search search
    SET longest_s = extract(epoch FROM search.deadline - campaign.started_at)
    FROM campaigns_campaign campaign
    WHERE campaign.id = search.campaign_id AND campaign.started_at < search.deadline
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0009_profiles'),
    ]

    operations = [
        migrations.AddField(
            model_name='search',
            name='longest_s',
            field=models.FloatField(default=3600.0),
        ),
        migrations.RunSQL(_KNOWN, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='search',
            name='deadline',
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
