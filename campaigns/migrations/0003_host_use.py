"""What else uses an injector host, and campaigns that wait until that is little."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0002_busy_machine")]

    operations = [
        migrations.AddField("injectorhost", "use", models.JSONField(null=True)),
        migrations.AddField(
            "campaign", "quiet_by", models.DateTimeField(null=True, blank=True)
        ),
    ]
