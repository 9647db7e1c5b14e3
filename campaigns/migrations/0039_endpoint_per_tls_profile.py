"""An origin can be listed once for each TLS profile."""

from django.db import migrations, models
from django.db.models import Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0038_perf_of_campaigns")]

    operations = [
        migrations.RemoveConstraint("endpoint", "one_endpoint_per_origin"),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.UniqueConstraint(
                "target",
                "scheme",
                "host",
                "port",
                Coalesce(KeyTextTransform("profile", "tls"), Value("")),
                condition=models.Q(archived_at=None),
                name="one_endpoint_per_origin",
            ),
        ),
    ]
