"""Lists of TLS names, and which groups have a key share in the first message."""

import pytest

from campaigns.domain.plan.tls_names import with_key_shares


@pytest.mark.parametrize(
    ("groups", "offered"),
    [
        ("X25519:P-256", "*X25519:P-256"),
        ("X25519MLKEM768:X25519:P-256", "*X25519MLKEM768:*X25519:P-256"),
        ("X25519MLKEM768:SecP256r1MLKEM768:P-256", "*X25519MLKEM768:SecP256r1MLKEM768:*P-256"),
        ("MLKEM768", "*MLKEM768"),
    ],
)
def test_the_first_group_has_a_key_share_and_beside_post_quantum_the_first_classical(
    groups, offered
):
    assert with_key_shares(groups) == offered
