"""Profiles that perf record made on a target's machine."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0008_requests_of_shard'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='profile',
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name='RunProfile',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'source', blank=True, editable=False, primary_key=True, serialize=False)),
                ('source', models.CharField(max_length=100)),
                ('data', models.JSONField()),
                ('run', models.ForeignKey(db_index=False, on_delete=models.deletion.CASCADE, related_name='profiles', to='campaigns.run')),
            ],
        ),
    ]
