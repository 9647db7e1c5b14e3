"""The TLS part of an endpoint's row in the target form."""

from typing import Any

NAMES = (
    "min_version",
    "max_version",
    "ciphers",
    "ca_pem",
    "sni",
    "client_certificate_pem",
    "fingerprint",
    "profile",
    "groups",
    "ciphersuites",
    "signatures",
)
KEY = "client_key_pem"


def posted_tls(data, n_rows: int) -> list[dict[str, Any]]:
    """Each row's options, the key under its own name; empty for rows without TLS fields."""
    columns = {name: data.getlist(f"tls_{name}") for name in (*NAMES, KEY, "alpn")}
    return [_row(columns, index) for index in range(n_rows)]


def _row(columns: dict[str, list[str]], index: int) -> dict[str, Any]:
    given: dict[str, Any] = {name: _at(columns[name], index) for name in NAMES}
    given |= {name: given[name] or None for name in ("min_version", "max_version")}
    given["alpn"] = _at(columns["alpn"], index) != "no"
    return {**given, KEY: _at(columns[KEY], index)}


def _at(column: list[str], index: int) -> str:
    return column[index].strip() if index < len(column) else ""


def split_key(row: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """(the options, the key) of a posted row."""
    return {name: value for name, value in row.items() if name != KEY}, row.get(KEY, "")
