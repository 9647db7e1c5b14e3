"""A run has the figures that histories read of thousands of runs at once. Those of older runs come
from their newest summaries, whose stored form is a contract: docs/injector.md."""

from django.db import migrations, models

from campaigns.migrations.frozen.run_figures import run_figures


def copy_from_summaries(apps, schema_editor):
    summaries = (
        apps.get_model("campaigns", "RunSummary")
        .objects.order_by("run_id", "-revision")
        .distinct("run_id")
        .values_list("run_id", "total")
    )
    runs = apps.get_model("campaigns", "Run").objects
    for run, total in summaries.iterator(chunk_size=100):
        runs.filter(pk=run).update(**run_figures(total))


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0015_campaigns_that_stop")]

    operations = [
        *(
            migrations.AddField("run", name, models.PositiveBigIntegerField(blank=True, null=True))
            for name in ("n", "errors")
        ),
        *(
            migrations.AddField("run", f"{name}_us", models.FloatField(blank=True, null=True))
            for name in ("mean", "p50", "p95", "p99")
        ),
        migrations.RunPython(copy_from_summaries, migrations.RunPython.noop),
    ]
