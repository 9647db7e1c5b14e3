"""Secrets are stored so that only the keys of the settings read them."""

import pytest

from campaigns.domain.errors import Refused
from campaigns.services.vault import decrypt, encrypt, encrypt_anew

SECRET = "correct horse é"


def test_what_is_stored_does_not_show_the_secret_and_differs_each_time(settings):
    settings.VAULT_KEYS = ["first"]
    stored = encrypt(SECRET)
    assert SECRET not in stored
    assert stored != encrypt(SECRET)
    assert decrypt(stored) == SECRET


def test_an_older_key_still_reads_and_can_leave_after_a_rotation(settings):
    settings.VAULT_KEYS = ["old"]
    stored = encrypt(SECRET)
    settings.VAULT_KEYS = ["new", "old"]
    assert decrypt(stored) == SECRET
    rotated = encrypt_anew(stored)
    settings.VAULT_KEYS = ["new"]
    assert decrypt(rotated) == SECRET
    with pytest.raises(Refused, match="BENCHSITE_VAULT_KEYS"):
        decrypt(stored)


def test_a_damaged_secret_is_refused_in_words(settings):
    settings.VAULT_KEYS = ["first"]
    with pytest.raises(Refused, match="enter the secret again"):
        decrypt(encrypt(SECRET)[:-4])
