"""A name may be pinned to an address; endpoints of one origin are told apart by it."""

from django.db import migrations, models
from django.db.models import F, Q, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0004_notes_of_machines'),
    ]

    operations = [
        migrations.RemoveConstraint(model_name='endpoint', name='one_endpoint_per_origin'),
        migrations.AddField(
            model_name='endpoint',
            name='address',
            field=models.CharField(blank=True, db_default='', default='', max_length=45),
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.UniqueConstraint(
                F('target'),
                F('scheme'),
                F('host'),
                F('port'),
                Coalesce(KeyTextTransform('profile', 'tls'), Value('')),
                F('address'),
                condition=Q(archived_at=None),
                name='one_endpoint_per_origin',
            ),
        ),
    ]
