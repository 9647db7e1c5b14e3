"""A search's answer is stored when it ends. Those that ended before have none: the rule that each
was made with is not known, and today's would read their trials otherwise."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0029_origins_of_secrets")]

    operations = [
        migrations.AddField("search", "answer", models.JSONField(blank=True, null=True)),
        migrations.AddConstraint(
            model_name="search",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("answer__isnull", True), ("ending__isnull", False), _connector="OR"
                ),
                name="search_has_its_answer_at_its_end",
            ),
        ),
    ]
