"""A search can be the baseline of later searches, beside a baseline of the same test's runs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0031_agents")]

    operations = [
        migrations.AddField("search", "against", models.JSONField(blank=True, null=True)),
        migrations.AddField("baseline", "of_search", models.BooleanField(default=False)),
        migrations.RemoveConstraint("baseline", "one_current_baseline_per_test"),
        migrations.AddConstraint(
            model_name="baseline",
            constraint=models.UniqueConstraint(
                condition=models.Q(("replaced_at", None)),
                fields=("plan", "endpoint", "connection_mode", "injectors", "of_search"),
                name="one_current_baseline_per_test",
            ),
        ),
    ]
