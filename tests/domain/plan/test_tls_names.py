"""Lists of TLS names, and which groups have a key share in the first message."""

import pytest

from campaigns.domain.plan.tls_options import group_name, with_key_shares


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


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("x25519", "X25519"),
        ("secp256r1", "P-256"),
        ("prime256v1", "P-256"),
        ("X25519MLKEM768", "X25519MLKEM768"),
        ("brainpoolP256r1", "brainpoolP256r1"),
        ("", ""),
    ],
)
def test_a_group_is_called_as_in_lists_whatever_the_library_says(said, name):
    assert group_name(said) == name
