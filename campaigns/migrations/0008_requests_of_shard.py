"""Single requests of a run: all of a short one, else the slowest."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0007_runs_of_single_arms'),
    ]

    operations = [
        migrations.CreateModel(
            name='RequestsOfShard',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'shard', blank=True, editable=False, primary_key=True, serialize=False)),
                ('shard', models.PositiveIntegerField()),
                ('packed', models.BinaryField()),
                ('run', models.ForeignKey(db_index=False, on_delete=models.deletion.CASCADE, related_name='kept_requests', to='campaigns.run')),
            ],
        ),
    ]
