"""A deleted project lies in the trash for 30 days, too."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0023_ends_of_figures'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='deleted_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name='project',
            constraint=models.CheckConstraint(condition=models.Q(('deleted_at', None), ('archived_at__isnull', False), _connector='OR'), name='deleted_project_is_archived'),
        ),
    ]
