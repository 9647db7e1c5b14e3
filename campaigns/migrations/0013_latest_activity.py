"""Lists of campaigns begin with what ended, started or was created last."""

import django.db.models.functions.comparison
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0012_one_summary_per_run'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='active_at',
            field=models.GeneratedField(db_persist=True, expression=django.db.models.functions.comparison.Coalesce('finished_at', 'started_at', 'created_at'), output_field=models.DateTimeField()),
        ),
        migrations.AddIndex(
            model_name='campaign',
            index=models.Index(fields=['project', '-active_at', '-id'], name='campaign_last_active_first'),
        ),
    ]
