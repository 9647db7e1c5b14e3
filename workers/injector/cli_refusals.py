"""What is wrong, said with the names that somebody typed: options, not fields of a plan."""

import re

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.outcomes import ALSO, Detail, Kind
from campaigns.domain.plan.addresses import NO_LOAD
from campaigns.domain.plan.fields import all_fields
from campaigns.domain.plan.plan import Plan
from workers.injector.cli_fields import flag_of
from workers.injector.order import Refusal
from workers.injector.summary import LocalRun

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


def advice(run: LocalRun) -> list[str]:
    """What a person at the keyboard can change about the failures."""
    details = [detail for row in run.measurement.failures for detail in row.details]
    also = {
        kind for kind, begins in _ALSO.items() if any(ALSO + begins in each for each in details)
    }
    kinds = {*run.total.errors, *also}
    return list(dict.fromkeys(text for kind, text in _ADVICE.items() if kind in kinds))
