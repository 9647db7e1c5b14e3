"""Arms that took turns are sent by themselves too, for what they cost the target's machine."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0006_stored_body'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='is_alone',
            field=models.BooleanField(default=False),
        ),
        migrations.RemoveConstraint(
            model_name='run',
            name='one_run_per_repeat',
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(
                fields=('test', 'repeat', 'is_alone'), name='one_run_per_repeat'
            ),
        ),
    ]
