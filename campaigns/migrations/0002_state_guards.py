"""The database refuses illegal moves and writes an event for each legal one, in one transaction.

The moves are those of the first release; tests hold the database to the lifecycle of today.
"""

from django.db import migrations

RUN_MOVES = (
    "queued>preparing queued>done preparing>queued preparing>armed preparing>stopping "
    "armed>running armed>stopping running>stopping running>finalizing stopping>finalizing "
    "finalizing>done"
)
SHARD_MOVES = (
    "open>claimed open>cancelled claimed>ready claimed>open claimed>lost claimed>cancelled "
    "ready>running ready>open ready>lost ready>cancelled running>done running>lost"
)

FORWARD = f"""
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
"""

BACKWARD = """
DROP TRIGGER versions_never_change ON campaigns_planversion;
DROP TRIGGER seconds_never_change ON campaigns_shardsecond;
DROP FUNCTION refuse_change;
DROP TRIGGER guard_shard_state ON campaigns_shard;
DROP FUNCTION guard_shard_state;
DROP TRIGGER guard_run_state ON campaigns_run;
DROP FUNCTION guard_run_state;
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
