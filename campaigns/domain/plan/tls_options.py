"""An endpoint's TLS options, and named sets of them. TLS 1.2 is the oldest version; groups are
those of a current browser, every other default is OpenSSL's.

A profile, the same on every endpoint that uses it, says which versions, groups, ciphers and
signatures are offered. Whether sessions are resumed is the connection mode of an arm; early data is
never sent. Those of PROFILES come with benchsite, a project adds its own.
"""

import re
import shlex
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Self

from campaigns.domain.errors import InvalidFields
from campaigns.domain.typed_text import JsonReader, clean_name

# What browsers offer since 2024.
USUAL_GROUPS = "X25519MLKEM768:X25519:P-256:P-384"


@dataclass(frozen=True, slots=True)
class TlsProfile:
    """`name` tells arms apart. `offers` has the fields of TlsOptions that it sets."""

    key: str
    title: str
    name: str
    summary: str
    offers: Mapping[str, Any]


def _built_in(key: str, title: str, name: str, summary: str, **offers: Any) -> TlsProfile:
    return TlsProfile(key, title, name, summary, MappingProxyType(offers))


_ECDSA = "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ecdsa_secp521r1_sha512"
_RSA_PSS = "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512"
_RSA_PKCS1 = "rsa_pkcs1_sha256:rsa_pkcs1_sha384:rsa_pkcs1_sha512"

STANDARD = ""
PROFILES: Mapping[str, TlsProfile] = {
    each.key: each
    for each in (
        _built_in(
            STANDARD,
            "Standard",
            "",
            "TLS 1.2 and 1.3, the groups of a current browser, OpenSSL's ciphers.",
        ),
        _built_in(
            "browser",
            "As a browser does today",
            "as a browser",
            "Groups, ciphers and signatures of a current browser in its order.",
            groups=USUAL_GROUPS,
            ciphersuites=(
                "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
            ),
            ciphers=(
                "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
                "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
                "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
                "ECDHE-RSA-AES128-SHA:ECDHE-RSA-AES256-SHA:AES128-GCM-SHA256:AES256-GCM-SHA384:"
                "AES128-SHA:AES256-SHA"
            ),
            signatures=(
                "ecdsa_secp256r1_sha256:rsa_pss_rsae_sha256:rsa_pkcs1_sha256:"
                "ecdsa_secp384r1_sha384:rsa_pss_rsae_sha384:rsa_pkcs1_sha384:"
                "rsa_pss_rsae_sha512:rsa_pkcs1_sha512"
            ),
        ),
        _built_in(
            "tls12",
            "TLS 1.2 only",
            "TLS 1.2 only",
            "No TLS 1.3, and so no post-quantum key exchange.",
            max_version="1.2",
        ),
        _built_in(
            "classical",
            "Without post-quantum",
            "without post-quantum",
            "The standard groups without X25519MLKEM768.",
            groups="X25519:P-256:P-384",
        ),
        _built_in(
            "ecdsa",
            "ECDSA certificate",
            "ECDSA",
            "Signatures by ECDSA only: a server that has certificates of both kinds shows this "
            "one; one that has none fails the handshake.",
            signatures=_ECDSA,
        ),
        _built_in(
            "rsa",
            "RSA certificate",
            "RSA",
            "The same with RSA.",
            signatures=f"{_RSA_PSS}:{_RSA_PKCS1}",
        ),
    )
}

NO_PROFILES: Mapping[str, TlsProfile] = MappingProxyType({})


def profile_named(name: str) -> TlsProfile:
    """That of PROFILES, else a project's own as far as its name tells: it offers nothing here,
    because what it offered is beside its name wherever that is kept."""
    return PROFILES.get(name) or TlsProfile(name, name, name, "", MappingProxyType({}))


GROUPS = (
    "X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024", "MLKEM512", "MLKEM768",
    "MLKEM1024", "X25519", "X448", "P-256", "P-384", "P-521", "ffdhe2048", "ffdhe3072", "ffdhe4096",
)  # fmt: skip
CIPHERSUITES = (
    "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_CCM_SHA256", "TLS_AES_128_CCM_8_SHA256",
)  # fmt: skip
SIGNATURES = (
    "ecdsa_secp256r1_sha256", "ecdsa_secp384r1_sha384", "ecdsa_secp521r1_sha512", "ed25519",
    "ed448", "rsa_pss_rsae_sha256", "rsa_pss_rsae_sha384", "rsa_pss_rsae_sha512",
    "rsa_pss_pss_sha256", "rsa_pss_pss_sha384", "rsa_pss_pss_sha512", "rsa_pkcs1_sha256",
    "rsa_pkcs1_sha384", "rsa_pkcs1_sha512", "mldsa44", "mldsa65", "mldsa87",
)  # fmt: skip
# Names of the same curves in RFC 8446 and in OpenSSL.
_ALIASES = {"secp256r1": "P-256", "prime256v1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
_POST_QUANTUM = "MLKEM"
_BETWEEN = re.compile(r"[\s:,]+")


def _spellings(names: tuple[str, ...]) -> dict[str, str]:
    by_spelling = {name.lower(): name for name in names}
    return by_spelling | {name: whole for name, whole in _ALIASES.items() if whole in names}


_GROUP_SPELLINGS = _spellings(GROUPS)


def group_name(text: str) -> str:
    """A group as lists have it, from what a TLS library calls it: X25519 of x25519, P-256 of
    secp256r1. What is not known stays as it is."""
    return _GROUP_SPELLINGS.get(text.lower(), text)


def is_post_quantum(group: str) -> bool:
    """Whether a key exchange resists quantum computers, alone or with a classical one."""
    return _POST_QUANTUM in group


def with_key_shares(groups: str) -> str:
    """The same list with a `*` before each group of which the first message has a key share.

    As browsers do: of the first, and if that is post-quantum, which not every server has, also of
    the first that is not.
    """
    names = groups.split(":")
    with_share = {names[0]}
    if is_post_quantum(names[0]):
        with_share |= set([name for name in names if not is_post_quantum(name)][:1])
    return ":".join(f"*{name}" if name in with_share else name for name in names)


VERSIONS = ("1.2", "1.3")
MAX_PEM_BYTES = 256 * 1024
LONGEST_OFFER = 1000  # characters of a list of names, such as ciphers
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
        options = self.chosen()
        offers = (own or profile_named(self.profile)).offers
        return replace(
            self, **{name: value for name, value in offers.items() if name not in options}
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

    def words(self) -> list[str]:
        """The non-default options in words, for pages: the profile, and what it does not set."""
        phrases = {
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
        differing = {name for name, value in self.chosen().items() if offers.get(name) != value}
        return [words for name, words in phrases.items() if name in differing]


def read_tls_options(reader: JsonReader, own: Mapping[str, TlsProfile] = NO_PROFILES) -> TlsOptions:
    """Options from JSON; what is wrong is collected by `reader`, a sentence for each field. `own`:
    the profiles that a project named, by name."""
    # Without the colons that browsers and openssl write.
    digest = reader.text("fingerprint", limit=200).strip().replace(":", "").lower()
    if digest and not _SHA_256.fullmatch(digest):
        reader.fail("fingerprint", "Write the SHA-256 of the certificate: 64 hexadecimal digits.")
    options = TlsOptions(
        min_version=_version(reader, "min_version"),
        max_version=_version(reader, "max_version"),
        ciphers=reader.text("ciphers", limit=LONGEST_OFFER).strip(),
        ca_pem=reader.text("ca_pem", limit=MAX_PEM_BYTES).strip(),
        sni=reader.text("sni", limit=253).strip().lower(),
        client_certificate_pem=reader.text("client_certificate_pem", limit=MAX_PEM_BYTES).strip(),
        alpn=reader.boolean("alpn", default=True),
        fingerprint=digest,
        profile=_profile(reader, own),
        groups=_names(reader, "groups", GROUPS),
        ciphersuites=_names(reader, "ciphersuites", CIPHERSUITES),
        signatures=_names(reader, "signatures", SIGNATURES),
    )
    reader.refuse_unknown(*TlsOptions.__slots__)
    result = options.resolved(own.get(options.profile))
    if (result.min_version, result.max_version) == ("1.3", "1.2"):
        reader.fail("max_version", "The newest version cannot be older than the oldest.")
    groups = result.groups.split(":")
    if result.max_version == "1.2" and all(map(is_post_quantum, groups)):
        reader.fail("groups", "TLS 1.2 has no post-quantum groups; add another, such as X25519.")
    if options.ciphers and not _openssl_takes("set_ciphers", options.ciphers):
        reader.fail("ciphers", "OpenSSL does not know these ciphers; write as in ECDHE+AESGCM.")
    for name in ("ca_pem", "client_certificate_pem"):
        pem = getattr(options, name)
        if not pem.isascii():
            reader.fail(name, "PEM is ASCII; leave out comments with other characters.")
        elif "PRIVATE KEY" in pem or (
            pem and not _openssl_takes("load_verify_locations", cadata=pem)
        ):
            reader.fail(name, "No certificate can be read; paste PEM, -----BEGIN CERTIFICATE-----.")
    labels = options.sni.rstrip(".").split(".")
    has_letters = all(ch.isascii() and (ch.isalnum() or ch in "-_.") for ch in options.sni)
    if options.sni and not (has_letters and all(labels) and not labels[-1].isdigit()):
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


def _profile(reader: JsonReader, own: Mapping[str, TlsProfile]) -> str:
    value = reader.text("profile") if reader.data.get("profile") else STANDARD
    value = value if value in own else clean_name(value)
    if value not in PROFILES and value not in own:
        reader.fail("profile", f"Choose one of: {', '.join(filter(None, [*PROFILES, *own]))}.")
        return STANDARD
    return value


def _names(reader: JsonReader, name: str, choices: tuple[str, ...]) -> str:
    """A list that is typed with colons, commas or spaces in between, as OpenSSL takes it: joined by
    colons."""
    spellings = _spellings(choices)
    words = [word for word in _BETWEEN.split(reader.text(name, limit=LONGEST_OFFER)) if word]
    if unknown := [word for word in words if word.lower() not in spellings]:
        reader.fail(name, f"There is no {unknown[0]!r} here. Known: {', '.join(choices)}.")
    names = (spellings[word.lower()] for word in words if word.lower() in spellings)
    return ":".join(dict.fromkeys(names))


def _openssl_takes(method: str, *args: str, **options: str) -> bool:
    try:
        getattr(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), method)(*args, **options)
    except (ssl.SSLError, ValueError):
        return False
    return True


# What a profile may set, of the fields of TlsOptions: who is trusted and which certificate is shown
# belong to an endpoint.
OFFERED = ("min_version", "max_version", "groups", "ciphersuites", "ciphers", "signatures")
# Those of them whose option has another name.
_OPTIONS = {"min_version": "--tls-min", "max_version": "--tls-max"}
MOST_NAME = 40
_TAKEN = {
    text.casefold() for each in PROFILES.values() for text in (each.key, each.title, each.name)
}


def own_profile(name: str, offers: dict[str, Any]) -> TlsProfile:
    """The value of a stored profile."""
    words = "; ".join(TlsOptions(**offers).words()) or "as the standard profile"
    words = f"{words[0].upper()}{words[1:]}."
    return TlsProfile(name, name, name, words, MappingProxyType(offers))


def command_options(offers: dict[str, Any]) -> str:
    """The same as options of the injector's command line, which knows no project's profiles:
    "--tls-max 1.2 --groups X25519:P-256"; "" for one that sets nothing."""
    words: list[str] = []
    for name in OFFERED:
        value = offers.get(name)
        if value:
            option = _OPTIONS.get(name, f"--{name}")
            words += [option] if value is True else [option, value]
    return shlex.join(words)


def check_profile(name: str, **offers: Any) -> TlsProfile:
    """The profile, cleaned; `offers` has fields of OFFERED. Raises InvalidFields."""
    errors: dict[str, str] = {}
    name = clean_name(name)
    if not name:
        errors["name"] = "Give the profile a name, such as our mobile clients."
    elif len(name) > MOST_NAME:
        errors["name"] = f"{len(name)} characters are too many; at most {MOST_NAME}."
    elif name.casefold() in _TAKEN:
        errors["name"] = f"“{name}” is a profile that comes with benchsite. Choose another name."
    reader = JsonReader(offers, errors=errors)
    reader.refuse_unknown(*OFFERED)
    options = read_tls_options(reader)
    if errors:
        raise InvalidFields(errors)
    return own_profile(name, options.chosen())
