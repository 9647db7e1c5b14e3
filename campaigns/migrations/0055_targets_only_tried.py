from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0054_orders_without_joins'),
    ]

    operations = [
        migrations.AddField(
            model_name='target',
            name='is_kept',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.RemoveConstraint(
            model_name='target',
            name='one_target_per_name',
        ),
        migrations.AddConstraint(
            model_name='target',
            constraint=models.UniqueConstraint(
                condition=models.Q(('archived_at', None), ('is_kept', True)),
                fields=('project', 'name'),
                name='one_target_per_name',
            ),
        ),
    ]
