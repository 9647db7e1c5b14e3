"""Arms side by side: one injector for the runs of all arms, and what they did in each round."""

import django.db.models.deletion
from django.db import migrations, models

# Whatever moves a leader or its shards moves those of its followers in the same statement. Where
# it has stopped sending each run goes on by itself: its summary is its own.
LED = """
CREATE FUNCTION lead_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE campaigns_run SET state = NEW.state, t0 = NEW.t0, stop_requested = NEW.stop_requested,
        stop_requested_by_id = NEW.stop_requested_by_id, outcome = NEW.outcome,
        barrier_failures = NEW.barrier_failures, reason = NEW.reason, ended_at = NEW.ended_at
    WHERE leader_id = NEW.id AND state = OLD.state;
    RETURN NULL;
END $$;
CREATE TRIGGER lead_runs AFTER UPDATE OF state, t0, stop_requested ON campaigns_run
    FOR EACH ROW WHEN (NEW.leader_id IS NULL AND OLD.state NOT IN ('finalizing', 'done'))
    EXECUTE FUNCTION lead_runs();

CREATE FUNCTION lead_shards() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE campaigns_shard led SET state = NEW.state, epoch = NEW.epoch, worker = NEW.worker,
        host = NEW.host, lease_until = NEW.lease_until, attempts = NEW.attempts,
        reason = NEW.reason
    FROM campaigns_run run
    WHERE run.leader_id = NEW.run_id AND led.run_id = run.id AND led.number = NEW.number;
    RETURN NULL;
END $$;
CREATE TRIGGER lead_shards AFTER UPDATE OF state, epoch, lease_until, reason ON campaigns_shard
    FOR EACH ROW EXECUTE FUNCTION lead_shards();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0002_busy_machine'),
    ]

    operations = [
        migrations.AlterField(
            model_name='campaign',
            name='order',
            field=models.CharField(choices=[('side_by_side', 'Side by side'), ('blocks', 'Counterbalanced blocks'), ('listed', 'As listed')], default='blocks', max_length=15),
        ),
        migrations.AddField("campaign", "limit_s", models.FloatField(null=True, blank=True)),
        migrations.AddField("campaign", "until_settled", models.BooleanField(default=True)),
        migrations.AddField(
            "run",
            "leader",
            models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='followers', to='campaigns.run'),
        ),
        migrations.RemoveConstraint("run", "one_active_run_per_target"),
        migrations.AddConstraint(
            "run",
            models.UniqueConstraint(condition=models.Q(('leader', None), ('state__in', ['armed', 'finalizing', 'preparing', 'running', 'stopping'])), fields=('target',), name='one_active_run_per_target'),
        ),
        migrations.CreateModel(
            name='Round',
            fields=[
                ('pk', models.CompositePrimaryKey('run_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('line', models.JSONField()),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rounds', to='campaigns.run')),
            ],
        ),
        migrations.RunSQL(LED, migrations.RunSQL.noop),
    ]
