"""What is deleted lies in the trash for 30 days."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0013_latest_activity'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='deleted_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='savedplan',
            name='deleted_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='target',
            name='deleted_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='deed',
            field=models.CharField(choices=[('signed_in', 'Signed in'), ('password_changed', 'Password changed'), ('token_created', 'Token created'), ('token_revoked', 'Token revoked'), ('member_added', 'Member added'), ('role_changed', 'Role changed'), ('member_removed', 'Member removed'), ('secret_stored', 'Secret stored'), ('secret_bound', 'Secret bound'), ('secret_deleted', 'Secret deleted'), ('campaign_started', 'Campaign started'), ('blocks_added', 'Blocks added'), ('campaign_stopped', 'Campaign stopped'), ('run_stopped', 'Run stopped'), ('load_switched_off', 'Load switched off'), ('load_allowed', 'Load allowed'), ('shared', 'Shared'), ('share_revoked', 'Share revoked'), ('deleted', 'Deleted'), ('restored', 'Restored'), ('deleted_forever', 'Deleted forever'), ('output_added', 'Output added'), ('caps_set', 'Caps set'), ('host_proven', 'Host proven'), ('approval_asked', 'Approval asked'), ('host_approved', 'Host approved'), ('host_refused', 'Host refused'), ('permit_withdrawn', 'Permit withdrawn'), ('exporter_set', 'Exporter set')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('deleted_at', None), ('archived_at__isnull', False), _connector='OR'), name='deleted_campaign_is_archived'),
        ),
        migrations.AddConstraint(
            model_name='savedplan',
            constraint=models.CheckConstraint(condition=models.Q(('deleted_at', None), ('archived_at__isnull', False), _connector='OR'), name='deleted_plan_is_archived'),
        ),
        migrations.AddConstraint(
            model_name='target',
            constraint=models.CheckConstraint(condition=models.Q(('deleted_at', None), ('archived_at__isnull', False), _connector='OR'), name='deleted_target_is_archived'),
        ),
    ]
