"""Channels, events and deliveries of notifications."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# In the transaction of the change, whoever makes it; only where somebody may want to know. `at` is
# the transaction's time, by which a campaign's end and its changes of level are known as one.
EVENTS = """
CREATE FUNCTION note_campaign_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO campaigns_event (key, kind, project_id, campaign_id, at)
    SELECT kind || ' ' || NEW.id || ' ' || since, kind, NEW.project_id, NEW.id, now()
    FROM (VALUES ('campaign.ended', OLD.finished_at, NEW.finished_at),
                 ('campaign.on_hold', OLD.held_at, NEW.held_at)) AS moved (kind, before, since)
    WHERE before IS NULL AND since IS NOT NULL AND EXISTS (
        SELECT FROM campaigns_notificationchannel
        WHERE project_id = NEW.project_id OR user_id = NEW.created_by_id)
    ON CONFLICT (key) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER note_campaign_event AFTER UPDATE OF finished_at, held_at ON campaigns_campaign
    FOR EACH ROW EXECUTE FUNCTION note_campaign_event();

CREATE FUNCTION note_change_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO campaigns_event (key, kind, project_id, change_id, at)
    SELECT 'change ' || NEW.id, 'change', entry.project_id, NEW.id, now()
    FROM campaigns_triageentry entry
    WHERE entry.id = NEW.entry_id AND EXISTS (
        SELECT FROM campaigns_notificationchannel WHERE project_id = entry.project_id)
    ON CONFLICT (key) DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER note_change_event AFTER INSERT ON campaigns_triagechange
    FOR EACH ROW EXECUTE FUNCTION note_change_event();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0015_schedules'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditentry',
            name='deed',
            field=models.CharField(choices=[('signed_in', 'Signed in'), ('password_changed', 'Password changed'), ('token_created', 'Token created'), ('token_revoked', 'Token revoked'), ('member_added', 'Member added'), ('role_changed', 'Role changed'), ('member_removed', 'Member removed'), ('secret_stored', 'Secret stored'), ('secret_bound', 'Secret bound'), ('secret_deleted', 'Secret deleted'), ('campaign_started', 'Campaign started'), ('blocks_added', 'Blocks added'), ('campaign_stopped', 'Campaign stopped'), ('run_stopped', 'Run stopped'), ('load_switched_off', 'Load switched off'), ('load_allowed', 'Load allowed'), ('shared', 'Shared'), ('share_revoked', 'Share revoked'), ('deleted', 'Deleted'), ('restored', 'Restored'), ('deleted_forever', 'Deleted forever'), ('output_added', 'Output added'), ('caps_set', 'Caps set'), ('host_proven', 'Host proven'), ('approval_asked', 'Approval asked'), ('host_approved', 'Host approved'), ('host_refused', 'Host refused'), ('permit_withdrawn', 'Permit withdrawn'), ('exporter_set', 'Exporter set'), ('schedule_set', 'Schedule set'), ('channel_added', 'Channel added'), ('channel_changed', 'Channel changed'), ('channel_removed', 'Channel removed')], max_length=20),
        ),
        migrations.CreateModel(
            name='NotificationChannel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('slack', 'Slack'), ('teams', 'Microsoft Teams'), ('discord', 'Discord'), ('matrix', 'Matrix'), ('email', 'E-mail'), ('webhook', 'Webhook'), ('other', 'Another service')], max_length=10)),
                ('label', models.CharField(max_length=100)),
                ('address', models.TextField(editable=False)),
                ('secrets', models.TextField(default='', editable=False)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), default=list, size=None)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('paused_at', models.DateTimeField(null=True)),
                ('why_paused', models.CharField(default='', max_length=400)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='channels', to='campaigns.project')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='channels', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200, unique=True)),
                ('kind', models.CharField(max_length=30)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('message', models.JSONField(null=True)),
                ('announced_at', models.DateTimeField(null=True)),
                ('campaign', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.campaign')),
                ('change', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.triagechange')),
                ('project', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.project')),
            ],
        ),
        migrations.CreateModel(
            name='NotificationDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('sent', 'Sent'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('n_attempts', models.PositiveIntegerField(default=0)),
                ('problem', models.CharField(default='', max_length=400)),
                ('tried_at', models.DateTimeField(null=True)),
                ('channel', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='campaigns.notificationchannel')),
                ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='campaigns.event')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.AddConstraint(
            model_name='notificationchannel',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('project', None), ('user__isnull', False)), models.Q(('project__isnull', False), ('user', None)), _connector='OR'), name='channel_is_of_a_project_or_a_person'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=models.Q(('announced_at', None)), fields=['at'], name='event_not_announced'),
        ),
        migrations.AddIndex(
            model_name='notificationdelivery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['due_at'], name='delivery_due'),
        ),
        migrations.AddConstraint(
            model_name='notificationdelivery',
            constraint=models.UniqueConstraint(fields=('event', 'channel'), name='one_delivery_per_channel'),
        ),
        migrations.RunSQL(EVENTS, migrations.RunSQL.noop),
    ]
