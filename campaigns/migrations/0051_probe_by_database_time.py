"""The age of a single request counts from the database's clock."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0050_measured_so_far")]

    operations = [
        migrations.AlterField(
            model_name="probe",
            name="requested_at",
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
    ]
