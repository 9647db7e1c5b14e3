"""The tables of release 0.2.0, and what the database itself refuses.

The moves are those of campaigns.domain.lifecycle at that release; a test holds the database to the
lifecycle of today.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.fields.json
import django.db.models.functions.comparison
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

RUN_MOVES = (
    "queued>preparing queued>done preparing>queued preparing>armed preparing>stopping "
    "armed>running armed>stopping running>stopping running>finalizing stopping>finalizing "
    "finalizing>done"
)
SHARD_MOVES = (
    "open>claimed open>cancelled claimed>ready claimed>open claimed>lost claimed>cancelled "
    "ready>running ready>open ready>lost ready>cancelled running>done running>lost "
    "running>storing storing>done storing>lost"
)
# An illegal move is refused; a legal one writes its event in the same transaction.
GUARDS = f"""
CREATE FUNCTION guard_run_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state || '>' || NEW.state <> ALL (string_to_array('{RUN_MOVES}', ' ')) THEN
        RAISE EXCEPTION 'a run cannot go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'check_violation';
    END IF;
    NEW.state_at := clock_timestamp();
    INSERT INTO campaigns_runevent (run_id, at, kind, data)
        VALUES (NEW.id, clock_timestamp(), 'run_' || NEW.state,
                jsonb_strip_nulls(jsonb_build_object('from', OLD.state, 'outcome', NEW.outcome,
                    'reason', NULLIF(NEW.reason, ''), 'stop', NEW.stop_requested)));
    RETURN NEW;
END $$;
CREATE TRIGGER guard_run_state BEFORE UPDATE OF state ON campaigns_run
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION guard_run_state();

CREATE FUNCTION guard_shard_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state || '>' || NEW.state <> ALL (string_to_array('{SHARD_MOVES}', ' ')) THEN
        RAISE EXCEPTION 'a shard cannot go from % to %', OLD.state, NEW.state
            USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO campaigns_runevent (run_id, at, kind, data)
        VALUES (NEW.run_id, clock_timestamp(), 'shard_' || NEW.state,
                jsonb_strip_nulls(jsonb_build_object('from', OLD.state, 'shard', NEW.number,
                    'host', NULLIF(NEW.host, ''), 'epoch', NEW.epoch,
                    'reason', NULLIF(NEW.reason, ''))));
    RETURN NEW;
END $$;
CREATE TRIGGER guard_shard_state BEFORE UPDATE OF state ON campaigns_shard
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION guard_shard_state();

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % never change', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER seconds_never_change BEFORE UPDATE ON campaigns_shardsecond
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER versions_never_change BEFORE UPDATE OF spec, number ON campaigns_planversion
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE FUNCTION campaigns_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Entries of the audit log are never changed or deleted.';
END $$;
CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE ON campaigns_auditentry
    FOR EACH ROW EXECUTE FUNCTION campaigns_audit_only_grows();
"""
# What is deflated already cannot be compressed again. lz4, where the server has it, is read faster.
STORAGE = """
ALTER TABLE campaigns_shardsecond ALTER COLUMN packed SET STORAGE EXTERNAL;
ALTER TABLE campaigns_runsummary ALTER COLUMN chunks SET STORAGE EXTERNAL;
DO $$ BEGIN
    ALTER TABLE campaigns_runsummary
        ALTER COLUMN total SET COMPRESSION lz4, ALTER COLUMN steps SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN NULL;
END $$;
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), blank=True, default=list, size=None)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('name', models.CharField(max_length=150)),
                ('order', models.CharField(choices=[('blocks', 'Counterbalanced blocks'), ('listed', 'As listed')], default='blocks', max_length=10)),
                ('repeats', models.PositiveIntegerField(default=5)),
                ('pause_s', models.FloatField(default=2.0)),
                ('injectors', models.PositiveIntegerField(default=1)),
                ('seed', models.BigIntegerField()),
                ('practical_threshold', models.FloatField(default=0.05)),
                ('keeps_going', models.BooleanField(default=False)),
                ('perf', models.CharField(blank=True, choices=[('', ''), ('processes', 'the watched processes'), ('machine', 'the whole machine')], default='', max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('held_at', models.DateTimeField(blank=True, null=True)),
                ('stop_requested_at', models.DateTimeField(blank=True, null=True)),
                ('stop_reason', models.TextField(blank=True, default='')),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('looked_at', models.DateTimeField(blank=True, null=True)),
                ('gist', models.JSONField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('looked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('stop_requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scheme', models.CharField(choices=[('http', 'http'), ('https', 'https'), ('ws', 'ws'), ('wss', 'wss')], max_length=5)),
                ('host', models.CharField(max_length=253)),
                ('port', models.PositiveIntegerField()),
                ('verify_tls', models.BooleanField(default=True)),
                ('tls', models.JSONField(blank=True, default=dict)),
                ('client_key', models.TextField(blank=True, default='', editable=False)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['scheme', 'host', 'port', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='InjectorHost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('slots', models.PositiveIntegerField()),
                ('seen_at', models.DateTimeField()),
                ('started_at', models.DateTimeField()),
                ('facts', models.JSONField(default=dict)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('repeat', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('queued', 'queued'), ('preparing', 'preparing'), ('armed', 'armed'), ('running', 'running'), ('stopping', 'stopping'), ('finalizing', 'finalizing'), ('done', 'done')], default='queued', max_length=10)),
                ('state_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('outcome', models.CharField(blank=True, choices=[('complete', 'complete'), ('partial', 'partial'), ('stopped', 'stopped'), ('killed', 'killed'), ('failed', 'failed'), ('expired', 'expired')], max_length=10, null=True)),
                ('trust', models.CharField(blank=True, choices=[('trusted', 'trusted'), ('doubtful', 'doubtful'), ('not_usable', 'not_usable')], max_length=10, null=True)),
                ('target_state', models.CharField(blank=True, choices=[('healthy', 'healthy'), ('changing', 'changing'), ('overloaded', 'overloaded'), ('failing', 'failing')], max_length=10, null=True)),
                ('precision', models.CharField(blank=True, choices=[('none', 'none'), ('coarse', 'coarse'), ('fine', 'fine')], max_length=10, null=True)),
                ('n', models.PositiveBigIntegerField(blank=True, null=True)),
                ('errors', models.PositiveBigIntegerField(blank=True, null=True)),
                ('mean_us', models.FloatField(blank=True, null=True)),
                ('p50_us', models.FloatField(blank=True, null=True)),
                ('p95_us', models.FloatField(blank=True, null=True)),
                ('p99_us', models.FloatField(blank=True, null=True)),
                ('judgement', models.JSONField(blank=True, null=True)),
                ('snapshot', models.JSONField()),
                ('machines', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), blank=True, null=True, size=None)),
                ('n_shards', models.PositiveIntegerField(default=1)),
                ('t0', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('stop_requested', models.CharField(blank=True, max_length=20, null=True)),
                ('barrier_failures', models.PositiveIntegerField(default=0)),
                ('reason', models.TextField(blank=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='campaigns.campaign')),
                ('stop_requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-campaign_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='Test',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('connection_mode', models.CharField(choices=[('new', 'new'), ('keep-alive', 'keep-alive'), ('resumed', 'resumed')], max_length=10)),
                ('injectors', models.PositiveIntegerField(default=1)),
                ('swept', models.CharField(blank=True, default='', max_length=60)),
                ('swept_value', models.FloatField(default=0)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tests', to='campaigns.campaign')),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tests', to='campaigns.endpoint')),
            ],
            options={
                'ordering': ['-campaign_id', 'position'],
            },
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), blank=True, default=list, size=None)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('name', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('caps', models.JSONField(default=dict)),
                ('admitted_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('scope', models.CharField(choices=[('read', 'Read'), ('run', 'Run'), ('write', 'Write')], max_length=10)),
                ('lookup', models.CharField(max_length=16, unique=True)),
                ('token_hash', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('project', models.BigIntegerField(null=True)),
                ('project_name', models.CharField(blank=True, max_length=150)),
                ('who', models.CharField(blank=True, max_length=150)),
                ('token', models.CharField(blank=True, max_length=100)),
                ('address', models.CharField(blank=True, max_length=45)),
                ('deed', models.CharField(choices=[('signed_in', 'Signed in'), ('password_changed', 'Password changed'), ('token_created', 'Token created'), ('token_revoked', 'Token revoked'), ('member_added', 'Member added'), ('role_changed', 'Role changed'), ('member_removed', 'Member removed'), ('secret_stored', 'Secret stored'), ('secret_bound', 'Secret bound'), ('secret_deleted', 'Secret deleted'), ('campaign_started', 'Campaign started'), ('blocks_added', 'Blocks added'), ('campaign_stopped', 'Campaign stopped'), ('run_stopped', 'Run stopped'), ('load_switched_off', 'Load switched off'), ('load_allowed', 'Load allowed'), ('shared', 'Shared'), ('share_revoked', 'Share revoked'), ('deleted', 'Deleted'), ('output_added', 'Output added'), ('caps_set', 'Caps set'), ('host_proven', 'Host proven'), ('approval_asked', 'Approval asked'), ('host_approved', 'Host approved'), ('host_refused', 'Host refused'), ('permit_withdrawn', 'Permit withdrawn'), ('exporter_set', 'Exporter set')], max_length=20)),
                ('what', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'ordering': ['-pk'],
                'indexes': [models.Index(fields=['project', 'id'], name='audit_of_project')],
            },
        ),
        migrations.CreateModel(
            name='HostClaim',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(max_length=253)),
                ('token', models.CharField(max_length=43)),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('checked_at', models.DateTimeField(blank=True, null=True)),
                ('places', models.JSONField(default=list)),
                ('faults', models.JSONField(default=list)),
                ('approval_asked_at', models.DateTimeField(blank=True, null=True)),
                ('approval_asked_by', models.CharField(blank=True, max_length=150)),
                ('approval_reason', models.CharField(blank=True, max_length=300)),
                ('refused_at', models.DateTimeField(blank=True, null=True)),
                ('refused_by', models.CharField(blank=True, max_length=150)),
                ('refusal', models.CharField(blank=True, max_length=300)),
                ('asked_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='host_claims', to='campaigns.project')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='LoadControl',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_on', models.BooleanField(default=True)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('changed_at', models.DateTimeField(null=True)),
                ('dispatcher_seen_at', models.DateTimeField(null=True)),
                ('identity', models.CharField(blank=True, max_length=60)),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='MeasuredSoFar',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='so_far', serialize=False, to='campaigns.run')),
                ('last_second', models.IntegerField()),
                ('release', models.CharField(max_length=16)),
                ('packed', models.BinaryField()),
                ('chunks', django.contrib.postgres.fields.ArrayField(base_field=models.BinaryField(), size=None)),
            ],
        ),
        migrations.CreateModel(
            name='KeptMinute',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'minute', 'step', blank=True, editable=False, primary_key=True, serialize=False)),
                ('minute', models.IntegerField()),
                ('step', models.PositiveIntegerField()),
                ('packed', models.BinaryField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='minutes', to='campaigns.run')),
            ],
        ),
        migrations.CreateModel(
            name='PlanVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('spec', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['plan', 'number'],
            },
        ),
        migrations.CreateModel(
            name='PooledPercentiles',
            fields=[
                ('test', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='pooled', serialize=False, to='campaigns.test')),
                ('of', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('known', models.JSONField()),
            ],
        ),
        migrations.AddField(
            model_name='test',
            name='plan_version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tests', to='campaigns.planversion'),
        ),
        migrations.AddField(
            model_name='run',
            name='test',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='campaigns.test'),
        ),
        migrations.CreateModel(
            name='Probe',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request', models.JSONField()),
                ('requested_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('claimed_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('result', models.JSONField(blank=True, null=True)),
                ('campaign', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='first_requests', to='campaigns.campaign')),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='probes', to='campaigns.endpoint')),
                ('plan_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='probes', to='campaigns.planversion')),
                ('requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='OwnTlsProfile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('offers', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tls_profiles', to='campaigns.project')),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'Owner'), ('editor', 'Editor'), ('operator', 'Operator'), ('viewer', 'Viewer')], max_length=10)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='campaigns.project')),
            ],
            options={
                'ordering': ['user__username'],
            },
        ),
        migrations.AddField(
            model_name='campaign',
            name='project',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='campaigns', to='campaigns.project'),
        ),
        migrations.CreateModel(
            name='RunEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kind', models.CharField(max_length=40)),
                ('data', models.JSONField(default=dict)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='campaigns.run')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='RunSummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField()),
                ('n_seconds', models.PositiveIntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('duration_s', models.FloatField()),
                ('total', models.JSONField()),
                ('brief', models.JSONField()),
                ('steps', models.JSONField()),
                ('chunks', django.contrib.postgres.fields.ArrayField(base_field=models.BinaryField(), size=None)),
                ('vitals', models.JSONField()),
                ('failures', models.JSONField(default=list)),
                ('thresholds', models.JSONField(default=list)),
                ('made_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='summaries', to='campaigns.run')),
            ],
        ),
        migrations.CreateModel(
            name='SavedPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), blank=True, default=list, size=None)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('name', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='plans', to='campaigns.project')),
            ],
            options={
                'db_table': 'campaigns_plan',
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.AddField(
            model_name='planversion',
            name='plan',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='campaigns.savedplan'),
        ),
        migrations.CreateModel(
            name='PlanSecret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ciphertext', models.TextField()),
                ('origins', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=300), default=list, size=None)),
                ('changed_at', models.DateTimeField(auto_now=True)),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('plan', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='secret', to='campaigns.savedplan')),
            ],
        ),
        migrations.CreateModel(
            name='Baseline',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('connection_mode', models.CharField(max_length=10)),
                ('injectors', models.PositiveIntegerField()),
                ('of_search', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('replaced_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('replaced_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.endpoint')),
                ('runs', models.ManyToManyField(related_name='baselines', to='campaigns.run')),
                ('test', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='campaigns.test')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='baselines', to='campaigns.project')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.savedplan')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='Shard',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('open', 'open'), ('claimed', 'claimed'), ('ready', 'ready'), ('running', 'running'), ('storing', 'storing'), ('done', 'done'), ('lost', 'lost'), ('cancelled', 'cancelled')], default='open', max_length=10)),
                ('epoch', models.PositiveIntegerField(default=0)),
                ('worker', models.CharField(blank=True, max_length=150)),
                ('host', models.CharField(blank=True, max_length=100)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('last_second', models.IntegerField(blank=True, null=True)),
                ('end', models.JSONField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shards', to='campaigns.run')),
            ],
            options={
                'ordering': ['run_id', 'number'],
            },
        ),
        migrations.CreateModel(
            name='ShardSecond',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'second', 'step', 'shard', blank=True, editable=False, primary_key=True, serialize=False)),
                ('shard', models.PositiveIntegerField()),
                ('second', models.IntegerField()),
                ('step', models.PositiveIntegerField()),
                ('epoch', models.PositiveIntegerField()),
                ('packed', models.BinaryField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='seconds', to='campaigns.run')),
            ],
        ),
        migrations.CreateModel(
            name='ShareLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('comparison', models.CharField(blank=True, default='', max_length=300)),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('shows_machines', models.BooleanField(default=False)),
                ('note', models.CharField(blank=True, max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('n_views', models.PositiveIntegerField(default=0)),
                ('campaign', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='campaigns.campaign')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='share_links', to='campaigns.project')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='campaigns.run')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='Target',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), blank=True, default=list, size=None)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('name', models.CharField(max_length=100)),
                ('environment', models.JSONField(blank=True, default=list)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('is_kept', models.BooleanField(db_default=True, default=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='targets', to='campaigns.project')),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.AddField(
            model_name='run',
            name='target',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='campaigns.target'),
        ),
        migrations.CreateModel(
            name='Exporter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('url', models.CharField(max_length=600)),
                ('verify_tls', models.BooleanField(default=True)),
                ('is_server', models.BooleanField(default=False)),
                ('token', models.TextField(blank=True, default='', editable=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('machine', models.CharField(blank=True, max_length=60)),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('told_at', models.DateTimeField(blank=True, null=True)),
                ('offers', models.JSONField(default=list)),
                ('problem', models.TextField(blank=True)),
                ('problem_at', models.DateTimeField(blank=True, null=True)),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exporters', to='campaigns.target')),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.AddField(
            model_name='endpoint',
            name='target',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='endpoints', to='campaigns.target'),
        ),
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lookup', models.CharField(max_length=16, unique=True)),
                ('token_hash', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('host', models.CharField(blank=True, max_length=100)),
                ('machine', models.CharField(blank=True, max_length=60)),
                ('watched', models.JSONField(default=list)),
                ('heard_since', models.DateTimeField(blank=True, null=True)),
                ('heard_at', models.DateTimeField(blank=True, null=True)),
                ('clock_ahead_s', models.FloatField(blank=True, null=True)),
                ('clock_error_s', models.FloatField(blank=True, null=True)),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agents', to='campaigns.target')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='TimeMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('text', models.CharField(max_length=100)),
                ('link', models.CharField(blank=True, max_length=500)),
                ('key', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='marks', to='campaigns.project')),
                ('target', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='marks', to='campaigns.target')),
            ],
            options={
                'ordering': ['at', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='ToolOutput',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tool', models.CharField(max_length=40)),
                ('text', models.TextField()),
                ('added_at', models.DateTimeField(auto_now_add=True)),
                ('added_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tool_outputs', to='campaigns.run')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='TriageEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'open'), ('acknowledged', 'acknowledged'), ('expected', 'expected'), ('environment', 'environment'), ('not_real', 'not_real'), ('fixed', 'fixed')], default='open', max_length=20)),
                ('found_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='triage', to='campaigns.project')),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.target')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='TriageChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('connection_mode', models.CharField(choices=[('new', 'new'), ('keep-alive', 'keep-alive'), ('resumed', 'resumed')], max_length=10)),
                ('injectors', models.PositiveIntegerField()),
                ('since_at', models.DateTimeField()),
                ('after_at', models.DateTimeField()),
                ('until_at', models.DateTimeField()),
                ('before_us', models.FloatField()),
                ('after_us', models.FloatField()),
                ('ratio', models.FloatField()),
                ('low', models.FloatField()),
                ('high', models.FloatField()),
                ('p_value', models.FloatField()),
                ('causes', models.JSONField(default=list)),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.endpoint')),
                ('plan', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.savedplan')),
                ('since', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='campaigns.campaign')),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='campaigns.triageentry')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='TriageNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'open'), ('acknowledged', 'acknowledged'), ('expected', 'expected'), ('environment', 'environment'), ('not_real', 'not_real'), ('fixed', 'fixed')], max_length=20)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('why', models.TextField(blank=True, default='')),
                ('link', models.CharField(blank=True, default='', max_length=500)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='campaigns.triageentry')),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='Search',
            fields=[
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search', serialize=False, to='campaigns.campaign')),
                ('start_per_s', models.FloatField()),
                ('limit_per_s', models.FloatField()),
                ('trial_s', models.FloatField()),
                ('deadline', models.DateTimeField()),
                ('ending', models.CharField(blank=True, choices=[('found', 'found'), ('injector', 'injector'), ('limit', 'limit'), ('below', 'below'), ('drifted', 'drifted'), ('deadline', 'deadline'), ('stopped', 'stopped'), ('silent', 'silent')], max_length=10, null=True)),
                ('answer', models.JSONField(blank=True, null=True)),
                ('against', models.JSONField(blank=True, null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('limit_per_s__gte', models.F('start_per_s')), ('start_per_s__gt', 0)), name='search_starts_within_its_limit'), models.CheckConstraint(condition=models.Q(('answer__isnull', True), ('ending__isnull', False), _connector='OR'), name='search_has_its_answer_at_its_end')],
            },
        ),
        migrations.CreateModel(
            name='HostPermit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('proof', 'Proof'), ('approval', 'Approval')], max_length=8)),
                ('places', models.JSONField()),
                ('given_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('given_by', models.CharField(blank=True, max_length=150)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('withdrawn_by', models.CharField(blank=True, max_length=150)),
                ('withdrawal', models.CharField(blank=True, max_length=300)),
                ('claim', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='permits', to='campaigns.hostclaim')),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('withdrawn_at', None)), fields=('claim', 'kind'), name='one_current_permit_per_kind')],
            },
        ),
        migrations.CreateModel(
            name='KeptPage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=32)),
                ('content', models.BinaryField()),
                ('kept_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='kept_pages', to='campaigns.campaign')),
            ],
            options={
                'ordering': ['-pk'],
                'constraints': [models.UniqueConstraint(fields=('campaign', 'key'), name='one_kept_page_per_key')],
            },
        ),
        migrations.CreateModel(
            name='RunUse',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='use', serialize=False, to='campaigns.run')),
                ('planned_s', models.FloatField(default=0)),
                ('planned_bytes', models.BigIntegerField(default=0)),
                ('n_seconds', models.BigIntegerField(default=0)),
                ('seconds_bytes', models.BigIntegerField(default=0)),
                ('summary_bytes', models.BigIntegerField(default=0)),
                ('example_bytes', models.BigIntegerField(default=0)),
                ('output_bytes', models.BigIntegerField(default=0)),
                ('measured_at', models.DateTimeField(null=True)),
                ('thinned_at', models.DateTimeField(null=True)),
                ('kept', models.JSONField(null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.project')),
            ],
        ),
        migrations.CreateModel(
            name='MachineSecond',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(max_length=100)),
                ('second', models.IntegerField()),
                ('lasted_s', models.FloatField()),
                ('busy_s', models.FloatField(null=True)),
                ('watched_s', models.FloatField(null=True)),
                ('is_scraped', models.BooleanField(default=False)),
                ('did', models.JSONField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='machine_seconds', to='campaigns.run')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('run', 'source', 'second'), name='one_machine_second')],
            },
        ),
        migrations.CreateModel(
            name='FailureExample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shard', models.PositiveIntegerField()),
                ('second', models.IntegerField()),
                ('step', models.PositiveIntegerField()),
                ('kind', models.CharField(max_length=40)),
                ('status', models.PositiveIntegerField()),
                ('at_us', models.BigIntegerField()),
                ('request', models.TextField()),
                ('reply', models.TextField()),
                ('body_bytes', models.BigIntegerField(null=True)),
                ('detail', models.TextField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='failure_examples', to='campaigns.run')),
            ],
            options={
                'ordering': ['at_us', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('run', 'shard', 'second', 'step', 'kind', 'status'), name='one_example_per_second')],
            },
        ),
        migrations.CreateModel(
            name='TestFigures',
            fields=[
                ('test', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='figures', serialize=False, to='campaigns.test')),
                ('plan_number', models.PositiveIntegerField()),
                ('connection_mode', models.CharField(max_length=10)),
                ('injectors', models.PositiveIntegerField()),
                ('started_at', models.DateTimeField()),
                ('n', models.PositiveBigIntegerField()),
                ('errors', models.PositiveBigIntegerField()),
                ('trust', models.CharField(blank=True, max_length=10)),
                ('target_state', models.CharField(blank=True, max_length=10)),
                ('mean_us', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), default=list, size=None)),
                ('p50_us', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), default=list, size=None)),
                ('p95_us', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), default=list, size=None)),
                ('p99_us', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), default=list, size=None)),
                ('facts', models.JSONField(default=dict)),
                ('against', models.JSONField(null=True)),
                ('baseline', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='campaigns.baseline')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='figures', to='campaigns.campaign')),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.endpoint')),
                ('plan', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.savedplan')),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='campaigns.project')),
            ],
        ),
        migrations.AddConstraint(
            model_name='test',
            constraint=models.UniqueConstraint(fields=('campaign', 'position'), name='one_test_per_position'),
        ),
        migrations.AddConstraint(
            model_name='test',
            constraint=models.UniqueConstraint(fields=('campaign', 'plan_version', 'endpoint', 'connection_mode', 'injectors', 'swept', 'swept_value'), name='one_test_per_plan_and_arm'),
        ),
        migrations.AddConstraint(
            model_name='test',
            constraint=models.CheckConstraint(condition=models.Q(('injectors__gte', 1), ('injectors__lte', 64)), name='test_injectors_range'),
        ),
        migrations.AddIndex(
            model_name='probe',
            index=models.Index(condition=models.Q(('finished_at', None)), fields=['requested_at'], name='probe_unanswered'),
        ),
        migrations.AddConstraint(
            model_name='probe',
            constraint=models.UniqueConstraint(condition=models.Q(('campaign__isnull', False)), fields=('campaign', 'plan_version', 'endpoint'), name='one_first_request_per_cell'),
        ),
        migrations.AddConstraint(
            model_name='owntlsprofile',
            constraint=models.UniqueConstraint(fields=('project', 'name'), name='one_tls_profile_per_name'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('project', 'user'), name='one_role_per_member'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'editor', 'operator', 'viewer'])), name='known_role'),
        ),
        migrations.AddConstraint(
            model_name='hostclaim',
            constraint=models.UniqueConstraint(fields=('project', 'host'), name='one_claim_per_host'),
        ),
        migrations.AddIndex(
            model_name='campaign',
            index=models.Index(fields=['project', '-id'], name='campaign_newest_first'),
        ),
        migrations.AddIndex(
            model_name='campaign',
            index=models.Index(condition=models.Q(('finished_at', None)), fields=['opened_at'], name='campaign_not_finished'),
        ),
        migrations.AddIndex(
            model_name='campaign',
            index=models.Index(condition=models.Q(('finished_at__isnull', False)), fields=['-finished_at', '-id'], name='campaign_last_ended_first'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('repeats__gte', 1), ('repeats__lte', 200)), name='campaign_repeats_range'),
        ),
        migrations.AddConstraint(
            model_name='campaign',
            constraint=models.CheckConstraint(condition=models.Q(('injectors__gte', 1), ('injectors__lte', 64)), name='campaign_injectors_range'),
        ),
        migrations.AddIndex(
            model_name='runevent',
            index=models.Index(condition=models.Q(('kind__in', ['late_seconds', 'summary_failed'])), fields=['kind', 'at'], name='event_to_answer'),
        ),
        migrations.AddConstraint(
            model_name='runsummary',
            constraint=models.UniqueConstraint(fields=('run', 'revision'), name='one_summary_per_revision'),
        ),
        migrations.AddConstraint(
            model_name='savedplan',
            constraint=models.UniqueConstraint(condition=models.Q(('archived_at', None)), fields=('project', 'name'), name='one_plan_per_name'),
        ),
        migrations.AddConstraint(
            model_name='planversion',
            constraint=models.UniqueConstraint(fields=('plan', 'number'), name='one_version_per_number'),
        ),
        migrations.AddConstraint(
            model_name='baseline',
            constraint=models.UniqueConstraint(condition=models.Q(('replaced_at', None)), fields=('plan', 'endpoint', 'connection_mode', 'injectors', 'of_search'), name='one_current_baseline_per_test'),
        ),
        migrations.AddIndex(
            model_name='shard',
            index=models.Index(condition=models.Q(('state__in', ['claimed', 'ready', 'running', 'storing'])), fields=['lease_until'], name='shard_by_lease'),
        ),
        migrations.AddConstraint(
            model_name='shard',
            constraint=models.UniqueConstraint(fields=('run', 'number'), name='one_shard_per_number'),
        ),
        migrations.AddConstraint(
            model_name='shard',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['claimed', 'ready', 'running', 'storing']), _negated=True), models.Q(models.Q(('worker', ''), _negated=True), ('lease_until__isnull', False)), _connector='OR'), name='live_shard_has_a_lease'),
        ),
        migrations.AddConstraint(
            model_name='sharelink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('comparison', ''), models.Q(('campaign__isnull', True), ('run__isnull', True), _connector='XOR')), models.Q(models.Q(('comparison', ''), _negated=True), ('campaign__isnull', True), ('run__isnull', True)), _connector='OR'), name='share_link_shows_one_thing'),
        ),
        migrations.AddConstraint(
            model_name='target',
            constraint=models.UniqueConstraint(condition=models.Q(('archived_at', None), ('is_kept', True)), fields=('project', 'name'), name='one_target_per_name'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('state', 'done'), _negated=True), fields=['state', 'campaign', 'position'], name='run_not_done'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['campaign', '-ended_at'], name='run_by_end'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(fields=('campaign', 'position'), name='one_run_per_position'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(fields=('test', 'repeat'), name='one_run_per_repeat'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['armed', 'finalizing', 'preparing', 'running', 'stopping'])), fields=('target',), name='one_active_run_per_target'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome__isnull', False), ('state', 'done')), models.Q(models.Q(('state', 'done'), _negated=True), ('outcome__isnull', True)), _connector='OR'), name='run_outcome_exactly_when_done'),
        ),
        migrations.AddConstraint(
            model_name='exporter',
            constraint=models.UniqueConstraint(fields=('target', 'name'), name='one_exporter_per_name'),
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.UniqueConstraint(models.F('target'), models.F('scheme'), models.F('host'), models.F('port'), django.db.models.functions.comparison.Coalesce(django.db.models.fields.json.KeyTextTransform('profile', 'tls'), models.Value('')), condition=models.Q(('archived_at', None)), name='one_endpoint_per_origin'),
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.CheckConstraint(condition=models.Q(('port__gte', 1), ('port__lte', 65535)), name='endpoint_port_range'),
        ),
        migrations.AddConstraint(
            model_name='timemark',
            constraint=models.UniqueConstraint(fields=('project', 'target', 'key'), name='one_mark_per_key', nulls_distinct=False),
        ),
        migrations.AddIndex(
            model_name='triageentry',
            index=models.Index(fields=['project', 'state'], name='triage_by_state'),
        ),
        migrations.AddConstraint(
            model_name='triagechange',
            constraint=models.UniqueConstraint(fields=('plan', 'endpoint', 'connection_mode', 'injectors', 'since'), name='one_change_per_test_and_campaign'),
        ),
        migrations.AddConstraint(
            model_name='triagechange',
            constraint=models.UniqueConstraint(fields=('entry', 'plan', 'endpoint', 'connection_mode', 'injectors'), name='one_change_of_a_test_per_entry'),
        ),
        migrations.AddIndex(
            model_name='runuse',
            index=models.Index(condition=models.Q(('thinned_at', None)), fields=['measured_at'], name='use_with_seconds_by_age'),
        ),
        migrations.AddIndex(
            model_name='testfigures',
            index=models.Index(fields=['project', 'started_at'], name='figures_of_project'),
        ),
        migrations.AddIndex(
            model_name='testfigures',
            index=models.Index(fields=['plan', 'endpoint', 'started_at'], name='figures_of_test'),
        ),
        migrations.RunSQL(GUARDS, migrations.RunSQL.noop),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
