"""TLS profiles that a project names. `check_profile` is the only door, and it says everything that
is wrong at once, each sentence under the name of its field.
"""

import shlex
from types import MappingProxyType
from typing import Any

from campaigns.domain.errors import InvalidFields
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.tls_options import TlsOptions, read_tls_options
from campaigns.domain.plan.tls_profiles import PROFILES, TlsProfile
from campaigns.domain.typed_text import clean_name

# What a profile may set, of the fields of TlsOptions: who is trusted and which certificate is shown
# belong to an endpoint.
OFFERED = ("min_version", "max_version", "groups", "ciphersuites", "ciphers", "signatures")
# Those of them whose option has another name.
_OPTIONS = {"min_version": "--tls-min", "max_version": "--tls-max"}
MOST_NAME = 40
_TAKEN = {
    said.casefold() for each in PROFILES.values() for said in (each.key, each.title, each.name)
}


def own_profile(name: str, offers: dict[str, Any]) -> TlsProfile:
    """The value of a stored profile."""
    return TlsProfile(name, name, name, offer_words(offers), MappingProxyType(offers))


def offer_words(offers: dict[str, Any]) -> str:
    """What a profile sets, in words."""
    said = "; ".join(TlsOptions.of(dict(offers)).words()) or "as the standard profile"
    return f"{said[0].upper()}{said[1:]}."


def command_options(offers: dict[str, Any]) -> str:
    """The same as options of the injector's command line, which knows no project's profiles:
    "--tls-max 1.2 --groups X25519:P-256"; "" for one that sets nothing."""
    said: list[str] = []
    for name in OFFERED:
        value = offers.get(name)
        if value:
            option = _OPTIONS.get(name, f"--{name}")
            said += [option] if value is True else [option, value]
    return shlex.join(said)


def check_profile(name: str, **offers: Any) -> TlsProfile:
    """The profile, cleaned; `offers` has fields of OFFERED. Raises InvalidFields."""
    errors: dict[str, str] = {}
    name = _name(name, errors)
    reader = JsonReader(offers, errors=errors)
    reader.refuse_unknown(*OFFERED)
    options = read_tls_options(reader)
    if errors:
        raise InvalidFields(errors)
    return own_profile(name, options.chosen())


def _name(name: str, errors: dict[str, str]) -> str:
    name = clean_name(name)
    if not name:
        errors["name"] = "Give the profile a name, such as our mobile clients."
    elif len(name) > MOST_NAME:
        errors["name"] = f"{len(name)} characters are too many; at most {MOST_NAME}."
    elif name.casefold() in _TAKEN:
        errors["name"] = f"“{name}” is a profile that comes with benchsite. Choose another name."
    return name
