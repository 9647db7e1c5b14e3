"""The options of the command line that say how TLS is spoken."""

import argparse
from pathlib import Path
from typing import Any

from campaigns.domain.plan.tls_options import VERSIONS


def add_tls_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("TLS").add_argument
    add("--insecure", action="store_true", help="accept any certificate (off)")
    add("--fingerprint", metavar="SHA256", default="", help="the only certificate to accept (none)")
    add("--tls-min", choices=VERSIONS, help="oldest version offered (1.2)")
    add("--tls-max", choices=VERSIONS, help="newest version offered (1.3)")
    add("--ciphers", metavar="LIST", default="", help="OpenSSL's list for TLS 1.2 (OpenSSL's own)")
    add("--ca-file", metavar="FILE", help="trust these authorities, PEM (those of the machine)")
    add("--sni", metavar="NAME", default="", help="name to announce and verify (the host)")
    add("--client-certificate", metavar="FILE", help="certificate to show, PEM (none)")
    add("--client-key", metavar="FILE", help="its private key, PEM without a passphrase (none)")
    add("--no-alpn", action="store_true", help="do not offer http/1.1 (off)")


def tls_fields(options: argparse.Namespace) -> dict[str, Any]:
    """The fields of the order's endpoint. Raises OSError where a file cannot be read."""
    return {
        "verify_tls": not options.insecure,
        "tls": {
            "min_version": options.tls_min,
            "max_version": options.tls_max,
            "ciphers": options.ciphers,
            "ca_pem": _text(options.ca_file),
            "sni": options.sni,
            "client_certificate_pem": _text(options.client_certificate),
            "fingerprint": options.fingerprint,
            "alpn": not options.no_alpn,
        },
    }


def read_client_key(options: argparse.Namespace) -> dict[str, str]:
    """The order's secret, from a file. Raises OSError, ValueError."""
    if bool(options.client_key) != bool(options.client_certificate):
        raise ValueError("--client-certificate and --client-key go together.")
    return {"client_key": _text(options.client_key)} if options.client_key else {}


def _text(path: str | None) -> str:
    return Path(path).read_text() if path else ""
