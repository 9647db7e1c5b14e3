import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('campaigns', '0020_notes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LastSeen',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='last_seen', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='deed',
            field=models.CharField(choices=[('signed_in', 'Signed in'), ('password_changed', 'Password changed'), ('password_reset', 'Password reset'), ('email_changed', 'Email changed'), ('sign_in_added', 'Sign in added'), ('sign_in_removed', 'Sign in removed'), ('sessions_ended', 'Sessions ended'), ('account_created', 'Account created'), ('account_disabled', 'Account disabled'), ('account_enabled', 'Account enabled'), ('administrator_set', 'Administrator set'), ('reset_link_made', 'Reset link made'), ('token_created', 'Token created'), ('token_revoked', 'Token revoked'), ('invited', 'Invited'), ('invitation_revoked', 'Invitation revoked'), ('invitation_accepted', 'Invitation accepted'), ('member_added', 'Member added'), ('role_changed', 'Role changed'), ('member_removed', 'Member removed'), ('secret_stored', 'Secret stored'), ('secret_bound', 'Secret bound'), ('secret_deleted', 'Secret deleted'), ('campaign_started', 'Campaign started'), ('blocks_added', 'Blocks added'), ('campaign_stopped', 'Campaign stopped'), ('run_stopped', 'Run stopped'), ('load_switched_off', 'Load switched off'), ('load_allowed', 'Load allowed'), ('shared', 'Shared'), ('share_revoked', 'Share revoked'), ('deleted', 'Deleted'), ('restored', 'Restored'), ('deleted_forever', 'Deleted forever'), ('output_added', 'Output added'), ('caps_set', 'Caps set'), ('host_proven', 'Host proven'), ('approval_asked', 'Approval asked'), ('host_approved', 'Host approved'), ('host_refused', 'Host refused'), ('permit_withdrawn', 'Permit withdrawn'), ('exporter_set', 'Exporter set'), ('schedule_set', 'Schedule set'), ('file_applied', 'File applied'), ('note_added', 'Note added'), ('note_changed', 'Note changed'), ('note_deleted', 'Note deleted'), ('channel_added', 'Channel added'), ('channel_changed', 'Channel changed'), ('channel_removed', 'Channel removed')], max_length=20),
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('editor', 'Editor'), ('operator', 'Operator'), ('viewer', 'Viewer')], max_length=10)),
                ('email', models.EmailField(blank=True, default='', max_length=254)),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('accepted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='campaigns.project')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'editor', 'operator', 'viewer'])), name='role_of_invitation')],
            },
        ),
    ]
