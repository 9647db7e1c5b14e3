"""A test may have one number of its plan replaced: it is a point of a sweep."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0024_searches"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="test",
            name="one_test_per_plan_and_arm",
        ),
        migrations.AddField(
            model_name="test",
            name="swept",
            field=models.CharField(blank=True, default="", max_length=60),
        ),
        migrations.AddField(
            model_name="test",
            name="swept_value",
            field=models.FloatField(default=0),
        ),
        migrations.AddConstraint(
            model_name="test",
            constraint=models.UniqueConstraint(
                fields=(
                    "campaign",
                    "plan_version",
                    "endpoint",
                    "connection_mode",
                    "injectors",
                    "swept",
                    "swept_value",
                ),
                name="one_test_per_plan_and_arm",
            ),
        ),
    ]
