"""The names that lists of TLS options may contain, as OpenSSL and IANA write them."""

import re

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


def _spellings(known: tuple[str, ...]) -> dict[str, str]:
    spelled = {name.lower(): name for name in known}
    return spelled | {name: whole for name, whole in _ALIASES.items() if whole in known}


_GROUPS_AS_SAID = _spellings(GROUPS)


def joined_names(typed: str, known: tuple[str, ...]) -> tuple[str, list[str]]:
    """(the names of a list as OpenSSL takes it, joined by colons; those that are not known)."""
    spelled = _spellings(known)
    typed_names = [name for name in _BETWEEN.split(typed) if name]
    names = [spelled[name.lower()] for name in typed_names if name.lower() in spelled]
    unknown = [name for name in typed_names if name.lower() not in spelled]
    return ":".join(dict.fromkeys(names)), unknown


def group_name(said: str) -> str:
    """A group as lists have it, from what a TLS library calls it: X25519 of x25519, P-256 of
    secp256r1. What is not known stays as it is."""
    return _GROUPS_AS_SAID.get(said.lower(), said)


def is_post_quantum(group: str) -> bool:
    """Whether a key exchange resists quantum computers, alone or with a classical one."""
    return _POST_QUANTUM in group


def with_key_shares(groups: str) -> str:
    """The same list with a `*` before each group of which the first message has a key share.

    As browsers do: of the first, and if that is post-quantum, which not every server has, also of
    the first that is not.
    """
    names = groups.split(":")
    shared = {names[0]}
    if is_post_quantum(names[0]):
        shared |= set([name for name in names if not is_post_quantum(name)][:1])
    return ":".join(f"*{name}" if name in shared else name for name in names)
