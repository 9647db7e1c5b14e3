"""Large bodies of requests, once for a project."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0005_endpoint_address'),
    ]

    operations = [
        migrations.CreateModel(
            name='StoredBody',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sha256', models.CharField(max_length=64)),
                ('data', models.BinaryField()),
                ('used_at', models.DateTimeField(db_default=Now())),
                ('project', models.ForeignKey(on_delete=models.deletion.CASCADE, related_name='bodies', to='campaigns.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'sha256'), name='one_body_per_digest')],
            },
        ),
    ]
