"""A small disturbance is a note of a trusted run. What nobody may use has no answer."""

from django.db import migrations, models

# Of a judgement's text, in this order. Answers come before their reasons; jsonb orders its keys.
_JUDGED = [
    ('"state": "doubtful", "reasons"', '"state": "trusted", "reasons"'),
    ('"state": "doubtful"', '"state": ""'),
    ('"state": "not_usable"', '"state": "no_answer"'),
    *(
        (f'"code": "{old}"', f'"code": "{new}"')
        for old, new in (
            ("lateness_p99", "late"),
            ("hub_lag_p50", "late"),
            ("hub_lag_p99", "late"),
            ("run_delay", "late"),
            ("hub_lag", "stall"),
            ("gc_pause", "stall"),
            ("gc_share", "stall"),
            ("cpu_5s", "cpu"),
            ("other_cpu", "crowded"),
            ("own_tail", "own_time_p99"),
        )
    ),
]


def _replaced(table: str, column: str, pairs: list[tuple[str, str]]) -> migrations.RunSQL:
    text, values = f"{column}::text", []
    for pair in pairs:
        text = f"replace({text}, %s, %s)"
        values += pair
    where = " OR ".join([f"strpos({column}::text, %s) > 0"] * len(pairs))
    sql = f"UPDATE {table} SET {column} = ({text})::jsonb WHERE {where}"
    return migrations.RunSQL([(sql, [*values, *(old for old, _ in pairs)])], migrations.RunSQL.noop)


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0003_side_by_side'),
    ]

    operations = [
        *(
            migrations.RunSQL(
                f"UPDATE {table} SET trust = '{new}' WHERE trust = '{old}'", migrations.RunSQL.noop
            )
            for table in ("campaigns_run", "campaigns_testfigures")
            for old, new in (("doubtful", "trusted"), ("not_usable", "no_answer"))
        ),
        _replaced("campaigns_run", "judgement", _JUDGED),
        _replaced("campaigns_search", "answer", [('"doubtful_from"', '"limit"')]),
        migrations.AlterField(
            model_name='run',
            name='trust',
            field=models.CharField(blank=True, choices=[('trusted', 'trusted'), ('busy', 'busy'), ('no_answer', 'no_answer')], max_length=10, null=True),
        ),
    ]
