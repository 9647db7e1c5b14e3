"""Several injector processes whose arms take the same turns: the pace that each has found, when
their rounds begin, and a row of each round for each shard."""

from django.db import migrations, models

_KEY = """
ALTER TABLE campaigns_round DROP CONSTRAINT campaigns_round_pkey,
    ADD PRIMARY KEY (run_id, number, shard)
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0024_trash_of_projects")]

    operations = [
        migrations.AddField("run", "rounds_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("run", "next_look", models.PositiveIntegerField(blank=True, null=True)),
        migrations.AddField(
            "run", "last_round", models.PositiveIntegerField(blank=True, null=True)
        ),
        migrations.AddField("shard", "pace", models.JSONField(blank=True, null=True)),
        migrations.AddField("round", "shard", models.PositiveIntegerField(default=0)),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(_KEY)],
            [
                migrations.AlterField(
                    "round",
                    "pk",
                    models.CompositePrimaryKey(
                        "run_id",
                        "number",
                        "shard",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
            ],
        ),
    ]
