"""Each test has its own number of injectors, so that a campaign can vary it."""

from django.db import migrations, models

_COPY = """
UPDATE campaigns_test SET injectors = campaigns_campaign.injectors
FROM campaigns_campaign WHERE campaigns_campaign.id = campaigns_test.campaign_id
"""


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0007_probe_claims"),
    ]

    operations = [
        migrations.AddField(
            model_name="test",
            name="injectors",
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.RunSQL(_COPY, migrations.RunSQL.noop),
        migrations.RemoveConstraint(model_name="test", name="one_test_per_plan_and_arm"),
        migrations.AddConstraint(
            model_name="test",
            constraint=models.UniqueConstraint(
                fields=["campaign", "plan_version", "endpoint", "connection_mode", "injectors"],
                name="one_test_per_plan_and_arm",
            ),
        ),
        migrations.AddConstraint(
            model_name="test",
            constraint=models.CheckConstraint(
                condition=models.Q(injectors__gte=1, injectors__lte=64),
                name="test_injectors_range",
            ),
        ),
    ]
