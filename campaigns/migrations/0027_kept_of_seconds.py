"""What pages read of a run's seconds once these are removed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0026_caps")]

    operations = [migrations.AddField("runuse", "kept", models.JSONField(null=True))]
