"""Indexes of what goes on, so that looking for work costs the same after any number of runs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0034_tool_outputs")]

    operations = [
        migrations.RemoveIndex(model_name="run", name="run_by_state"),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("state", "done"), _negated=True),
                fields=["state", "campaign", "position"],
                name="run_not_done",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["campaign", "-ended_at"], name="run_by_end"),
        ),
        migrations.AddIndex(
            model_name="shard",
            index=models.Index(
                condition=models.Q(("state__in", ["claimed", "ready", "running", "storing"])),
                fields=["lease_until"],
                name="shard_by_lease",
            ),
        ),
        migrations.AddIndex(
            model_name="runevent",
            index=models.Index(
                condition=models.Q(("kind__in", ["late_seconds", "summary_failed"])),
                fields=["kind", "at"],
                name="event_to_answer",
            ),
        ),
        migrations.AddIndex(
            model_name="campaign",
            index=models.Index(
                condition=models.Q(("finished_at", None)),
                fields=["opened_at"],
                name="campaign_not_finished",
            ),
        ),
        migrations.AddIndex(
            model_name="probe",
            index=models.Index(
                condition=models.Q(("finished_at", None)),
                fields=["requested_at"],
                name="probe_unanswered",
            ),
        ),
    ]
