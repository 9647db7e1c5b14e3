"""The model of a named plan is SavedPlan, for Plan is what it says. Its table keeps its name."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("campaigns", "0008_injectors_of_tests"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Plan", "SavedPlan"),
                migrations.AlterModelTable("SavedPlan", "campaigns_plan"),
            ]
        ),
    ]
