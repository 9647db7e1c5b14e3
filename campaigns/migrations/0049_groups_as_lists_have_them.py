"""What histories keep of TLS calls key exchange groups X25519 and P-256, as lists of groups do.

It had the library's x25519 and secp256r1, beside which a new run would seem to agree on another.
"""

from django.db import migrations

# The names of the release that writes them in this way.
_NAMES = (
    ("x25519", "X25519"), ("x448", "X448"), ("secp256r1", "P-256"), ("secp384r1", "P-384"),
    ("secp521r1", "P-521"),
)  # fmt: skip
# The group ends an agreement, such as "TLSv1.3, TLS_AES_128_GCM_SHA256, x25519"; of several each.
_RENAME = r"""
UPDATE campaigns_testfigures
SET facts = jsonb_set(facts, '{{TLS}}', to_jsonb(
    regexp_replace(facts->>'TLS', ', {old}(;|$)', ', {new}\1', 'g')))
WHERE facts->>'TLS' ~ ', {old}(;|$)'
"""


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0048_kept_pages")]

    operations = [
        migrations.RunSQL(_RENAME.format(old=old, new=new), migrations.RunSQL.noop)
        for old, new in _NAMES
    ]
