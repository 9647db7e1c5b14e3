"""Histories read the figures that are kept of each test; those of older tests come from their runs.
Marks and baselines begin empty."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from campaigns.migrations.frozen.kept_figures import kept_figures

_AT_ONCE = 500  # tests


def keep_figures(apps, schema_editor):
    test, run, shard, kept = (
        apps.get_model("campaigns", name).objects
        for name in ("Test", "Run", "Shard", "TestFigures")
    )
    pks = list(test.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(pks), _AT_ONCE):
        some = test.filter(pk__in=pks[start : start + _AT_ONCE])
        kept.bulk_create(kept.model(**row) for row in kept_figures(some, run.all(), shard.all()))


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0021_saved_views"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Baseline",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("connection_mode", models.CharField(max_length=10)),
                ("injectors", models.PositiveIntegerField()),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("replaced_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="campaigns.endpoint",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="campaigns.savedplan",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="baselines",
                        to="campaigns.project",
                    ),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("runs", models.ManyToManyField(related_name="baselines", to="campaigns.run")),
                (
                    "test",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="campaigns.test",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.CreateModel(
            name="TimeMark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("text", models.CharField(max_length=100)),
                ("link", models.CharField(blank=True, max_length=500)),
                ("key", models.CharField(max_length=150)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="marks",
                        to="campaigns.project",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="marks",
                        to="campaigns.target",
                    ),
                ),
            ],
            options={
                "ordering": ["at", "pk"],
            },
        ),
        migrations.CreateModel(
            name="TestFigures",
            fields=[
                (
                    "test",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="figures",
                        serialize=False,
                        to="campaigns.test",
                    ),
                ),
                ("plan_number", models.PositiveIntegerField()),
                ("connection_mode", models.CharField(max_length=10)),
                ("injectors", models.PositiveIntegerField()),
                ("started_at", models.DateTimeField()),
                ("n", models.PositiveBigIntegerField()),
                ("errors", models.PositiveBigIntegerField()),
                ("trust", models.CharField(blank=True, max_length=10)),
                ("target_state", models.CharField(blank=True, max_length=10)),
                (
                    "mean_us",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), default=list, size=None
                    ),
                ),
                (
                    "p50_us",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), default=list, size=None
                    ),
                ),
                (
                    "p95_us",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), default=list, size=None
                    ),
                ),
                (
                    "p99_us",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), default=list, size=None
                    ),
                ),
                ("facts", models.JSONField(default=dict)),
                ("against", models.JSONField(null=True)),
                (
                    "baseline",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="campaigns.baseline",
                    ),
                ),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="figures",
                        to="campaigns.campaign",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="campaigns.endpoint",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="campaigns.savedplan",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="campaigns.project",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="baseline",
            constraint=models.UniqueConstraint(
                condition=models.Q(("replaced_at", None)),
                fields=("plan", "endpoint", "connection_mode", "injectors"),
                name="one_current_baseline_per_test",
            ),
        ),
        migrations.AddConstraint(
            model_name="timemark",
            constraint=models.UniqueConstraint(
                fields=("project", "target", "key"), name="one_mark_per_key", nulls_distinct=False
            ),
        ),
        migrations.AddIndex(
            model_name="testfigures",
            index=models.Index(fields=["project", "started_at"], name="figures_of_project"),
        ),
        migrations.AddIndex(
            model_name="testfigures",
            index=models.Index(fields=["plan", "endpoint", "started_at"], name="figures_of_test"),
        ),
        migrations.RunPython(keep_figures, migrations.RunPython.noop),
    ]
