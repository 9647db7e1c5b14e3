"""Commit, branch, link and note of a campaign."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0016_notifications'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='branch',
            field=models.CharField(blank=True, default='', max_length=250),
        ),
        migrations.AddField(
            model_name='campaign',
            name='commit',
            field=models.CharField(blank=True, default='', max_length=64),
        ),
        migrations.AddField(
            model_name='campaign',
            name='link',
            field=models.CharField(blank=True, default='', max_length=500),
        ),
        migrations.AddField(
            model_name='campaign',
            name='note',
            field=models.CharField(blank=True, default='', max_length=2000),
        ),
    ]
