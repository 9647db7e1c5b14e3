"""Changes in histories with what people say about them; share links of comparisons."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_STATES = [
    ("open", "open"),
    ("acknowledged", "acknowledged"),
    ("expected", "expected"),
    ("environment", "environment"),
    ("not_real", "not_real"),
    ("fixed", "fixed"),
]
_ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


def _of(model: str, name: str = "+") -> models.ForeignKey:
    return models.ForeignKey(
        on_delete=django.db.models.deletion.CASCADE, related_name=name, to=f"campaigns.{model}"
    )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("campaigns", "0017_first_requests"),
    ]

    operations = [
        migrations.CreateModel(
            name="TriageEntry",
            fields=[
                ("id", _ID),
                ("project", _of("project", "triage")),
                ("target", _of("target")),
                ("state", models.CharField(choices=_STATES, default="open", max_length=20)),
                ("found_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [models.Index(fields=["project", "state"], name="triage_by_state")],
            },
        ),
        migrations.CreateModel(
            name="TriageChange",
            fields=[
                ("id", _ID),
                ("entry", _of("triageentry", "changes")),
                ("plan", _of("savedplan")),
                ("endpoint", _of("endpoint")),
                (
                    "connection_mode",
                    models.CharField(
                        choices=[
                            ("new", "new"),
                            ("keep-alive", "keep-alive"),
                            ("resumed", "resumed"),
                        ],
                        max_length=10,
                    ),
                ),
                ("injectors", models.PositiveIntegerField()),
                (
                    "since",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="campaigns.campaign",
                    ),
                ),
                ("since_at", models.DateTimeField()),
                ("after_at", models.DateTimeField()),
                ("until_at", models.DateTimeField()),
                ("before_us", models.FloatField()),
                ("after_us", models.FloatField()),
                ("ratio", models.FloatField()),
                ("low", models.FloatField()),
                ("high", models.FloatField()),
                ("p_value", models.FloatField()),
                ("causes", models.JSONField(default=list)),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("plan", "endpoint", "connection_mode", "injectors", "since"),
                        name="one_change_per_test_and_campaign",
                    ),
                    models.UniqueConstraint(
                        fields=("entry", "plan", "endpoint", "connection_mode", "injectors"),
                        name="one_change_of_a_test_per_entry",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TriageNote",
            fields=[
                ("id", _ID),
                ("entry", _of("triageentry", "notes")),
                ("state", models.CharField(choices=_STATES, max_length=20)),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("why", models.TextField(blank=True, default="")),
                ("link", models.CharField(blank=True, default="", max_length=500)),
            ],
            options={"ordering": ["-pk"]},
        ),
        migrations.AddField(
            "sharelink",
            "comparison",
            models.CharField(blank=True, default="", max_length=300),
        ),
        migrations.RemoveConstraint("sharelink", "share_link_shows_one_thing"),
        migrations.AddConstraint(
            "sharelink",
            models.CheckConstraint(
                condition=models.Q(comparison="")
                & (models.Q(campaign__isnull=True) ^ models.Q(run__isnull=True))
                | ~models.Q(comparison="") & models.Q(campaign__isnull=True, run__isnull=True),
                name="share_link_shows_one_thing",
            ),
        ),
    ]
