"""Options of the command line that are fields of a plan: added and read by the registry's rows.

The options of the command line that say how TLS is spoken.

Options of the command line for sessions and credentials.

What is wrong, said with the names that somebody typed: options, not fields of a plan."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.outcomes import ALSO, Detail, FailureRow, Kind
from campaigns.domain.plan.addresses import NO_LOAD
from campaigns.domain.plan.fields import PlanField, all_fields, fields_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import Session
from campaigns.domain.plan.target import TLS_SCHEMES
from campaigns.domain.plan.tls_options import PROFILES, STANDARD, VERSIONS, read_tls_options
from campaigns.domain.plan.variables import Variables, parse_lines
from campaigns.domain.presentation.plan_words import option_help
from campaigns.domain.typed_text import AMOUNTS, JsonReader, seconds_in
from workers.injector.order import Refusal
from workers.injector.tls_library import KeyLog


@cache
def bytes_of(path: str) -> bytes:
    """Of a file, or of standard input (-). Once, for each address of --against asks, and a pipe is
    empty the second time. Raises OSError."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()


def text_of(path: str) -> str:
    """The file's text in UTF-8, to the byte: opened as text, CR LF would become LF. Raises OSError,
    ValueError."""
    try:
        text = bytes_of(path).decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: this is no text in UTF-8 (byte {error.start + 1:,} cannot be read)."
        ) from None
    if not text.strip():
        raise ValueError(f"{path}: the file is empty.")
    return text


def add_list(add: Callable[..., Any], flag: str, metavar: str, words: str) -> None:
    """An option that may be repeated."""
    add(flag, action="append", default=[], metavar=metavar, help=words)


def add_field_options(group: argparse._ActionsContainer, owner: type) -> None:
    for field in fields_of(owner).values():
        if field.option:
            flag, _, metavar = field.option.partition(" ")
            settings = _how_to_read(field) | ({"metavar": metavar} if metavar else {})
            group.add_argument(flag, help=option_help(field).replace("%", "%%"), **settings)


def given_fields(options: argparse.Namespace, owner: type) -> dict[str, Any]:
    """The fields that were given as options, as JSON has them."""
    values = {
        name: getattr(options, dest_of(field))
        for name, field in fields_of(owner).items()
        if field.option
    }
    return {name: value for name, value in values.items() if value is not None}


def flag_of(field: PlanField) -> str:
    """As it is typed: --ramp-up."""
    return field.option.partition(" ")[0]


def dest_of(field: PlanField) -> str:
    return flag_of(field).removeprefix("--").replace("-", "_")


def refuse_given(options: argparse.Namespace, owner: type, sentence: str) -> None:
    """Raises ValueError, "--option sentence", where an option asks for more than the default."""
    for name, value in given_fields(options, owner).items():
        field = fields_of(owner)[name]
        if value != field.default:
            raise ValueError(f"{flag_of(field)} {sentence}")


def _how_to_read(field: PlanField) -> dict[str, Any]:
    """What argparse needs; a list that is typed value by value is an option to repeat."""
    if field.kind is bool:
        return {"action": "store_const", "const": not field.default}
    if field.is_choice:
        # Argparse would print members as code: <Hold.CLOSE: 'close'>.
        return {"choices": list(map(str, field.kind))}
    if field.kind is None and field.from_text is None:
        return {"action": "append"}
    if field.kind in (int, float) and (read := AMOUNTS.get(field.unit)):
        return {"type": partial(read_amount, read=read, kind=field.kind)}
    return {"type": field.from_text or field.kind}


def read_amount(text: str, read: Callable[[str], float] = seconds_in, kind: type = float) -> float:
    """Seconds or a rate with its unit."""
    try:
        value = read(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    if kind is int and not value.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r}: write whole seconds")
    return kind(value)


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
        # The figures of a plain connection would be taken for those; --insecure leaves them.
        for name in _OF_TLS:
            if getattr(options, name):
                raise ValueError(f"--{name.replace('_', '-')} needs an https or wss address.")
    fields = {
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
    tls = {name: fields[name] or offers.get(name, fields[name]) for name in fields}
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


def _text(path: str | None) -> str:
    return text_of(path) if path else ""


def add_session_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sessions", "what one connection and one user do")
    add = group.add_argument
    add_field_options(group, Session)
    add(
        "--think-time",
        metavar="S|S-S|~S",
        help="pause between requests, s: always S, even between two, exponential of mean S (0)",
    )
    add(
        "--csv",
        metavar="FILE",
        help="values of ${name} in address, headers and body; the first row has the names (none)",
    )
    add_field_options(group, Variables)
    add_list(
        add,
        "--value",
        "LINE",
        "a value made for each request, such as 'id = uuid', 'n = counter 1', 'size = "
        "integer 1 to 9', 'kind = choice book, pen' or 'at = time ms'; may be repeated (none)",
    )
    kinds = group.add_mutually_exclusive_group()
    kinds.add_argument(
        "--basic", metavar="USER", help="send this user and the secret as password (off)"
    )
    kinds.add_argument(
        "--bearer", action="store_true", help="send the secret as bearer token (off)"
    )
    add(
        "--secret-file",
        metavar="FILE",
        help="file of the password or token: everybody could read an option (none)",
    )


def session_of(options: argparse.Namespace) -> dict[str, Any]:
    """The plan's fields that the options describe. Raises ValueError."""
    auth: dict[str, Any] = {"kind": "bearer"} if options.bearer else {}
    if options.basic is not None:
        auth = {"kind": "basic", "user": options.basic}
    think_time = _read_think_time(options.think_time)
    variables = {"generators": parse_lines("\n".join(options.value))} if options.value else {}
    if options.csv:
        variables |= {"csv": text_of(options.csv), **given_fields(options, Variables)}
    else:
        refuse_given(options, Variables, "says which row of --csv is next; there is no --csv.")
    return {
        "session": {**given_fields(options, Session), "think_time": think_time},
        "auth": auth,
        "variables": variables,
    }


def read_secrets(options: argparse.Namespace, plan: dict[str, Any]) -> dict[str, str]:
    """The order's secrets, from a file. Raises OSError, ValueError."""
    wants_one = plan.get("auth", {}).get("kind", "none") != "none"
    if wants_one != bool(options.secret_file):
        raise ValueError(
            "--basic, --bearer and a plan with credentials go together with --secret-file."
        )
    return {"auth": text_of(options.secret_file).rstrip("\r\n")} if wants_one else {}


def _read_think_time(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        if text.startswith("~"):
            return {"kind": "exponential", "mean_s": seconds_in(text[1:])}
        low, dash, high = text.partition("-")
        if dash:
            return {"kind": "uniform", "min_s": seconds_in(low), "max_s": seconds_in(high)}
        return {"kind": "constant", "mean_s": seconds_in(text)}
    except ValueError:
        raise ValueError(f"--think-time {text!r}: write 0.5, 1-3, ~2 (seconds) or 500ms.") from None


# The registry knows the option of a field; these fields have another one, or are objects.
_OPTIONS = {
    **{path: flag_of(field) for path, field in all_fields(Plan).items() if field.option},
    "timeouts": "--timeout",
    "connection_mode": "--keep-alive",
    "steps.0.headers": "--header",
    "steps.0.body": "--body",
    "steps.0.body_file": "--body",
    "steps.0.form": "--form",
    "steps.0.multipart": "--multipart",
    "steps.0.method": "--method",
    "session.think_time": "--think-time",
    "auth": "--basic",
    "variables": "--csv",
    "variables.generators": "--value",
    "exchange.headers": "--header",
    "tls.min_version": "--tls-min",
    "tls.max_version": "--tls-max",
    "tls.ca_pem": "--ca-file",
    "tls.client_certificate_pem": "--client-certificate",
    **{f"tls.{name}": f"--{name}" for name in ("ciphers", "ciphersuites", "groups", "signatures")},
    **{f"tls.{name}": f"--{name}" for name in ("sni", "fingerprint")},
}
_IN_ADDRESS = {"steps.0.path", "exchange.path"}
_OF_A_REPLY = re.compile(r"steps\.\d+\.(check|extract)s?\b")
_OTHER_STEP = re.compile(r"steps\.[1-9]")
_INSECURE = "--insecure takes any certificate."
_ADVICE = {
    Kind.TLS_VERIFY: _INSECURE,
    Kind.TLS_NAME: "--sni names the one of its names to verify.",
    Kind.TLS_EXPIRED: _INSECURE,
    Kind.TLS_NOT_YET_VALID: "Check this machine's clock.",
    Kind.TLS_SELF_SIGNED: _INSECURE,
    Kind.TLS_UNKNOWN_ISSUER: "--ca-file trusts an authority of your own.",
    Kind.TLS_FINGERPRINT: "--fingerprint names the one certificate to accept.",
}
# Of the second thing that is wrong with a certificate.
_ALSO = {Kind.TLS_EXPIRED: Detail.EXPIRED, Kind.TLS_NOT_YET_VALID: Detail.NOT_YET_VALID}
_ALLOW = " If you may send load there, add --allow with its network, such as 10.1.0.0/16."
# Forms have fields to empty; here an option is left out.
_FORM_WORDS = re.compile(r"\b(leave (?:it|this|them|one)) empty\b")


def lines_of(error: Exception) -> list[str]:
    """Each fault in a line of its own."""
    if isinstance(error, InvalidFields):
        lines = [_at_option(path, text) for path, text in error.errors.items()]
        return list(dict.fromkeys(lines))
    if isinstance(error, Refusal) and error.kind == Kind.ADDRESS_REFUSED:
        return [f"{error}{'' if NO_LOAD in str(error) else _ALLOW}"]
    if isinstance(error, OSError) and error.filename:
        return [f"{error.filename}: {error.strerror}."]
    return str(error).splitlines()


def _at_option(path: str, text: str) -> str:
    if path in _IN_ADDRESS:
        return f"URL: {text}"
    text = _FORM_WORDS.sub(r"\1 out", text)
    if of_reply := _OF_A_REPLY.match(path):
        return f"--{of_reply[1]}: {text}"
    if _OTHER_STEP.match(path):
        return f"--step: {text}"
    parts = path.split(".")
    for n_parts in range(len(parts), 0, -1):
        option = _OPTIONS.get(".".join(parts[:n_parts]))
        if option:
            return f"{option}: {text}"
    return f"{path}: {text}"


def advice(failures: Iterable[FailureRow]) -> list[str]:
    """What a person at the keyboard can change about them."""
    failures = list(failures)
    details = [detail for row in failures for detail in row.details]
    also = {
        kind for kind, begins in _ALSO.items() if any(ALSO + begins in each for each in details)
    }
    kinds = {*(row.kind for row in failures), *also}
    return list(dict.fromkeys(text for kind, text in _ADVICE.items() if kind in kinds))
