"""What else uses an injector host."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0002_busy_machine")]

    operations = [migrations.AddField("injectorhost", "use", models.JSONField(null=True))]
