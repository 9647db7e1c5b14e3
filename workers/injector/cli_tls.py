"""The options of the command line that say how TLS is spoken."""

import argparse
from typing import Any

from campaigns.domain.errors import InvalidFields
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.target import TLS_SCHEMES
from campaigns.domain.plan.tls_options import PROFILES, STANDARD, VERSIONS, read_tls_options
from workers.injector.cli_fields import text_of
from workers.injector.key_log import KeyLog

_PROFILE = "a named set of versions, groups, ciphers and signatures (the standard one)"
_GROUPS = "key exchange groups in order, such as X25519MLKEM768:X25519 (a browser's)"
_KEY_LOG = "write the connections' secrets for Wireshark; who has FILE can read the traffic (none)"
# What changes a handshake; none of them does anything without TLS.
_OF_TLS = (
    *("fingerprint", "tls_profile", "tls_min", "tls_max", "ciphers", "ciphersuites", "groups"),
    *("signatures", "ca_file", "sni", "client_certificate", "client_key", "no_alpn"),
)


def add_tls_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("TLS").add_argument
    add("--insecure", action="store_true", help="accept any certificate (off)")
    add("--fingerprint", metavar="SHA256", default="", help="the only certificate to accept (none)")
    add("--tls-profile", choices=list(filter(None, PROFILES)), default=STANDARD, help=_PROFILE)
    add("--tls-min", choices=VERSIONS, help="oldest version offered (1.2)")
    add("--tls-max", choices=VERSIONS, help="newest version offered (1.3)")
    add("--ciphers", metavar="LIST", default="", help="OpenSSL's list for TLS 1.2 (OpenSSL's own)")
    add("--ciphersuites", metavar="LIST", default="", help="ciphers of TLS 1.3 (OpenSSL's own)")
    add("--groups", metavar="LIST", default="", help=_GROUPS)
    add("--signatures", metavar="LIST", default="", help="signature algorithms (OpenSSL's own)")
    add("--ca-file", metavar="FILE", help="trust these authorities, PEM (those of the machine)")
    add("--sni", metavar="NAME", default="", help="name to announce and verify (the host)")
    add("--client-certificate", metavar="FILE", help="certificate to show, PEM (none)")
    add("--client-key", metavar="FILE", help="its private key, PEM without a passphrase (none)")
    add("--no-alpn", action="store_true", help="do not offer http/1.1, or h2 with --http 2 (off)")
    add("--key-log", metavar="FILE", help=_KEY_LOG)


def tls_fields(options: argparse.Namespace, scheme: str) -> dict[str, Any]:
    """The fields of the order's endpoint. Raises OSError where a file cannot be read,
    ValueError where it is no text."""
    if scheme not in TLS_SCHEMES:
        _refuse_tls(options)
    given = {
        "min_version": options.tls_min,
        "max_version": options.tls_max,
        "ciphers": options.ciphers,
        "ca_pem": _text(options.ca_file),
        "sni": options.sni,
        "client_certificate_pem": _text(options.client_certificate),
        "fingerprint": options.fingerprint,
        "groups": options.groups,
        "ciphersuites": options.ciphersuites,
        "signatures": options.signatures,
        "alpn": not options.no_alpn,
    }
    offers = PROFILES[options.tls_profile].offers
    tls = {name: given[name] or offers.get(name, given[name]) for name in given}
    return {"verify_tls": not options.insecure, "tls": tls}


def check_tls(endpoint: dict[str, Any]) -> None:
    """Raises InvalidFields where an option's value cannot be used."""
    reader = JsonReader(endpoint.get("tls", {}), "tls")
    read_tls_options(reader)
    if reader.errors:
        raise InvalidFields(reader.errors)


def read_client_key(options: argparse.Namespace) -> dict[str, str]:
    """The order's secret, from a file. Raises OSError, ValueError."""
    if bool(options.client_key) != bool(options.client_certificate):
        raise ValueError("--client-certificate and --client-key go together.")
    return {"client_key": _text(options.client_key)} if options.client_key else {}


def open_key_log(options: argparse.Namespace, scheme: str) -> KeyLog | None:
    """Raises OSError, and ValueError where nothing could be written to it."""
    if not options.key_log:
        return None
    if scheme not in TLS_SCHEMES:
        raise ValueError("--key-log needs an https or wss address.")
    if options.processes > 1:
        raise ValueError("--key-log is written by one process; leave out --processes.")
    return KeyLog(options.key_log)


def _refuse_tls(options: argparse.Namespace) -> None:
    """Raises ValueError where an option says how to speak TLS: the figures of a plain connection
    would be taken for those. --insecure leaves them as they are."""
    for name in _OF_TLS:
        if getattr(options, name):
            raise ValueError(f"--{name.replace('_', '-')} needs an https or wss address.")


def _text(path: str | None) -> str:
    return text_of(path) if path else ""
