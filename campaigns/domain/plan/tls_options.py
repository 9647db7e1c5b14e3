"""An endpoint's TLS options. TLS 1.2 is the oldest version; groups are those of a current browser,
every other default is OpenSSL's.
"""

import re
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.tls_names import (
    CIPHERSUITES,
    GROUPS,
    SIGNATURES,
    is_post_quantum,
    joined_names,
)
from campaigns.domain.plan.tls_profiles import (
    NO_PROFILES,
    PROFILES,
    STANDARD,
    TlsProfile,
    profile_named,
)
from campaigns.domain.typed_text import clean_name

VERSIONS = ("1.2", "1.3")
MAX_PEM_BYTES = 256 * 1024
LONGEST_OFFER = 1000  # characters of a list of names, such as ciphers
_NAMES = (
    "min_version",
    "max_version",
    "ciphers",
    "ca_pem",
    "sni",
    "client_certificate_pem",
    "alpn",
    "fingerprint",
    "profile",
    "groups",
    "ciphersuites",
    "signatures",
)
_SHA_256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """`ca_pem`: trusted instead of the machine's authorities. `sni`: the name that is announced and
    verified, where it is not the host. `ciphers`: OpenSSL's list for TLS 1.2. `alpn`: offer
    http/1.1. `fingerprint`: the SHA-256 of the one certificate that is accepted, in hexadecimal
    digits; authorities, names and dates are then not looked at. The client certificate's key is a
    secret and never part of this.

    `groups` (of the key exchange), `ciphersuites` (of TLS 1.3) and `signatures` are names in the
    order of preference, joined by colons. `profile`: a key of PROFILES or the name of a
    project's own; it sets what was left at its default.
    """

    min_version: str | None = None
    max_version: str | None = None
    ciphers: str = ""
    ca_pem: str = ""
    sni: str = ""
    client_certificate_pem: str = ""
    alpn: bool = True
    fingerprint: str = ""
    profile: str = STANDARD
    groups: str = ""
    ciphersuites: str = ""
    signatures: str = ""

    def resolved(self, own: TlsProfile | None = None) -> Self:
        """With what the profile sets, so that a run keeps it whatever becomes of the profile.
        `own`: the profile where it is a project's own; what has been resolved needs none."""
        chosen = self.chosen()
        offers = (own or profile_named(self.profile)).offers
        return replace(
            self, **{name: value for name, value in offers.items() if name not in chosen}
        )

    @property
    def profile_name(self) -> str:
        """The profile as arms are told apart by it; "" for the standard one."""
        return profile_named(self.profile).name

    def to_json(self) -> dict[str, Any]:
        """The stored form; `read_tls_options` reads it back."""
        return asdict(self)

    def chosen(self) -> dict[str, Any]:
        """Only the non-default options."""
        usual = TlsOptions().to_json()
        return {name: value for name, value in self.to_json().items() if value != usual[name]}

    @classmethod
    def of(cls, chosen: dict[str, Any]) -> Self:
        """Options from what `chosen` gave."""
        return cls(**chosen)

    def words(self) -> list[str]:
        """The non-default options in words, for pages: the profile, and what it does not set."""
        said = {
            "profile": f"profile “{profile_named(self.profile).title}”",
            "min_version": f"TLS {self.min_version} or newer",
            "max_version": f"TLS {self.max_version} or older",
            "ciphers": f"ciphers {self.ciphers}",
            "ca_pem": "authorities of its own",
            "sni": f"announces {self.sni}",
            "client_certificate_pem": "shows a client certificate",
            "alpn": "offers no ALPN",
            "fingerprint": f"only the certificate {self.fingerprint[:16]}… is accepted",
            "groups": f"groups {self.groups}",
            "ciphersuites": f"TLS 1.3 ciphers {self.ciphersuites}",
            "signatures": f"signatures {self.signatures}",
        }
        offers = profile_named(self.profile).offers
        told = {name for name, value in self.chosen().items() if offers.get(name) != value}
        return [words for name, words in said.items() if name in told]


def read_tls_options(reader: JsonReader, own: Mapping[str, TlsProfile] = NO_PROFILES) -> TlsOptions:
    """Options from JSON; what is wrong is collected by `reader`, a sentence for each field. `own`:
    the profiles that a project named, by name."""
    options = TlsOptions(
        min_version=_version(reader, "min_version"),
        max_version=_version(reader, "max_version"),
        ciphers=reader.text("ciphers", limit=LONGEST_OFFER).strip(),
        ca_pem=reader.text("ca_pem", limit=MAX_PEM_BYTES).strip(),
        sni=reader.text("sni", limit=253).strip().lower(),
        client_certificate_pem=reader.text("client_certificate_pem", limit=MAX_PEM_BYTES).strip(),
        alpn=reader.boolean("alpn", default=True),
        fingerprint=_fingerprint(reader),
        profile=_profile(reader, own),
        groups=_names(reader, "groups", GROUPS),
        ciphersuites=_names(reader, "ciphersuites", CIPHERSUITES),
        signatures=_names(reader, "signatures", SIGNATURES),
    )
    reader.refuse_unknown(*_NAMES)
    offered = options.resolved(own.get(options.profile))
    if (offered.min_version, offered.max_version) == ("1.3", "1.2"):
        reader.fail("max_version", "The newest version cannot be older than the oldest.")
    groups = offered.groups.split(":")
    if offered.max_version == "1.2" and all(map(is_post_quantum, groups)):
        reader.fail("groups", "TLS 1.2 has no post-quantum groups; add another, such as X25519.")
    if options.ciphers and not _names_ciphers(options.ciphers):
        reader.fail("ciphers", "OpenSSL does not know these ciphers; write as in ECDHE+AESGCM.")
    for name in ("ca_pem", "client_certificate_pem"):
        if fault := _fault_of_certificates(getattr(options, name)):
            reader.fail(name, fault)
    if not _is_name(options.sni):
        reader.fail(
            "sni", "Write a host name, such as shop.example; an address is never announced."
        )
    return options


def _version(reader: JsonReader, name: str) -> str | None:
    value = reader.data.get(name) or None
    if value is not None and value not in VERSIONS:
        reader.fail(name, f"Choose one of: {', '.join(VERSIONS)}.")
        return None
    return value


def _fingerprint(reader: JsonReader) -> str:
    """In lower case without the colons that browsers and openssl write."""
    given = reader.text("fingerprint", limit=200).strip().replace(":", "").lower()
    if given and not _SHA_256.fullmatch(given):
        reader.fail("fingerprint", "Write the SHA-256 of the certificate: 64 hexadecimal digits.")
    return given


def _profile(reader: JsonReader, own: Mapping[str, TlsProfile]) -> str:
    value = reader.text("profile") if reader.data.get("profile") else STANDARD
    value = value if value in own else clean_name(value)
    if value not in PROFILES and value not in own:
        reader.fail("profile", f"Choose one of: {', '.join(filter(None, [*PROFILES, *own]))}.")
        return STANDARD
    return value


def _names(reader: JsonReader, name: str, known: tuple[str, ...]) -> str:
    """A list that is typed with colons, commas or spaces in between."""
    names, unknown = joined_names(reader.text(name, limit=LONGEST_OFFER), known)
    if unknown:
        reader.fail(name, f"There is no {unknown[0]!r} here. Known: {', '.join(known)}.")
    return names


def _names_ciphers(ciphers: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).set_ciphers(ciphers)
    except (ssl.SSLError, ValueError):
        return False
    return True


def _fault_of_certificates(pem: str) -> str:
    """A sentence, or ""."""
    if not pem.isascii():
        return "PEM is ASCII; leave out comments with other characters."
    if pem and not _holds_certificates(pem):
        return "No certificate can be read; paste PEM, -----BEGIN CERTIFICATE-----."
    return ""


def _holds_certificates(pem: str) -> bool:
    if "PRIVATE KEY" in pem:
        return False
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        return False
    return True


def _is_name(sni: str) -> bool:
    labels = sni.rstrip(".").split(".")
    allowed = all(ch.isascii() and (ch.isalnum() or ch in "-_.") for ch in sni)
    return not sni or (allowed and all(labels) and not labels[-1].isdigit())
