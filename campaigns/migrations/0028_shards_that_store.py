"""A shard whose injector has ended while its last seconds are being stored.

The moves are those of campaigns.domain.lifecycle at the time of this migration; a test holds the
database to the lifecycle of today.
"""

from django.db import migrations, models

MOVES = (
    "open>claimed open>cancelled claimed>ready claimed>open claimed>lost claimed>cancelled "
    "ready>running ready>open ready>lost ready>cancelled running>done running>lost"
)
STORING = "running>storing storing>done storing>lost"

GUARD = """
CREATE OR REPLACE FUNCTION guard_shard_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state || '>' || NEW.state <> ALL (string_to_array('{moves}', ' ')) THEN
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
"""
# An older release would wait for a shard that is storing; its seconds may still come late.
END_STORING = "UPDATE campaigns_shard SET state = 'lost' WHERE state = 'storing';"
STATES = ("open", "claimed", "ready", "running", "storing", "done", "lost", "cancelled")
LEASED = ["claimed", "ready", "running", "storing"]


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0027_kept_of_seconds")]

    operations = [
        migrations.AlterField(
            "shard",
            "state",
            models.CharField(
                choices=[(state, state) for state in STATES], default="open", max_length=10
            ),
        ),
        migrations.RemoveConstraint("shard", "live_shard_has_a_lease"),
        migrations.AddConstraint(
            "shard",
            models.CheckConstraint(
                condition=models.Q(("state__in", LEASED), _negated=True)
                | models.Q(models.Q(("worker", ""), _negated=True), lease_until__isnull=False),
                name="live_shard_has_a_lease",
            ),
        ),
        migrations.RunSQL(
            GUARD.format(moves=f"{MOVES} {STORING}"), END_STORING + GUARD.format(moves=MOVES)
        ),
    ]
