"""One index of seconds instead of two: in the order in which they are read."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0035_work_under_way")]

    operations = [
        migrations.RemoveConstraint("shardsecond", "one_row_per_second"),
        migrations.AddConstraint(
            model_name="shardsecond",
            constraint=models.UniqueConstraint(
                fields=("run", "second", "step", "shard"), name="one_row_per_second"
            ),
        ),
        migrations.AlterField(
            model_name="shardsecond",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="seconds",
                to="campaigns.run",
            ),
        ),
    ]
