"""What lists say of a finished campaign is kept with it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0039_endpoint_per_tls_profile")]

    operations = [
        migrations.AddField("campaign", "gist", models.JSONField(null=True)),
    ]
