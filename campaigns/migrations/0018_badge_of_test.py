"""Share links to badges."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0017_source_of_campaign'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='sharelink',
            name='share_link_shows_one_thing',
        ),
        migrations.AddField(
            model_name='sharelink',
            name='test',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='campaigns.test'),
        ),
        migrations.AddConstraint(
            model_name='sharelink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('comparison', ''), ('test__isnull', True), models.Q(('campaign__isnull', True), ('run__isnull', True), _connector='XOR')), models.Q(models.Q(('comparison', ''), _negated=True), models.Q(('campaign__isnull', True), ('run__isnull', True)), ('test__isnull', True)), models.Q(models.Q(('campaign__isnull', True), ('run__isnull', True)), ('comparison', ''), ('test__isnull', False)), _connector='OR'), name='share_link_shows_one_thing'),
        ),
    ]
