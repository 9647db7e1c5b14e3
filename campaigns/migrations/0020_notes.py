"""Notes of campaigns, runs and tests; the plain one of a campaign becomes its first."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0019_file_applied'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditentry',
            name='deed',
            field=models.CharField(choices=[('signed_in', 'Signed in'), ('password_changed', 'Password changed'), ('token_created', 'Token created'), ('token_revoked', 'Token revoked'), ('member_added', 'Member added'), ('role_changed', 'Role changed'), ('member_removed', 'Member removed'), ('secret_stored', 'Secret stored'), ('secret_bound', 'Secret bound'), ('secret_deleted', 'Secret deleted'), ('campaign_started', 'Campaign started'), ('blocks_added', 'Blocks added'), ('campaign_stopped', 'Campaign stopped'), ('run_stopped', 'Run stopped'), ('load_switched_off', 'Load switched off'), ('load_allowed', 'Load allowed'), ('shared', 'Shared'), ('share_revoked', 'Share revoked'), ('deleted', 'Deleted'), ('restored', 'Restored'), ('deleted_forever', 'Deleted forever'), ('output_added', 'Output added'), ('caps_set', 'Caps set'), ('host_proven', 'Host proven'), ('approval_asked', 'Approval asked'), ('host_approved', 'Host approved'), ('host_refused', 'Host refused'), ('permit_withdrawn', 'Permit withdrawn'), ('exporter_set', 'Exporter set'), ('schedule_set', 'Schedule set'), ('file_applied', 'File applied'), ('note_added', 'Note added'), ('note_changed', 'Note changed'), ('note_deleted', 'Note deleted'), ('channel_added', 'Channel added'), ('channel_changed', 'Channel changed'), ('channel_removed', 'Channel removed')], max_length=20),
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('connection_mode', models.CharField(blank=True, default='', max_length=10)),
                ('injectors', models.PositiveIntegerField(default=1)),
                ('text', models.TextField()),
                ('is_shared', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('edited_at', models.DateTimeField(null=True)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='campaigns.campaign')),
                ('endpoint', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.endpoint')),
                ('plan', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.savedplan')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='campaigns.project')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='campaigns.run')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(models.Q(('endpoint', None), ('plan', None)), ('campaign__isnull', False), ('run', None)), models.Q(models.Q(('endpoint', None), ('plan', None)), ('campaign', None), ('run__isnull', False)), models.Q(models.Q(('endpoint__isnull', False), ('plan__isnull', False)), ('campaign', None), ('run', None)), _connector='OR'), name='note_is_of_one_thing')],
            },
        ),
        migrations.RunSQL(
            """
            INSERT INTO campaigns_note (project_id, campaign_id, text, author_id, created_at,
                is_shared, connection_mode, injectors)
            SELECT project_id, id, note, created_by_id, created_at, false, '', 1
            FROM campaigns_campaign WHERE note <> '';
            SET CONSTRAINTS ALL IMMEDIATE
            """,
            migrations.RunSQL.noop,
        ),
        migrations.RemoveField(
            model_name='campaign',
            name='note',
        ),
    ]
