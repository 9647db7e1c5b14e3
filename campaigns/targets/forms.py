"""The target form: a name and two lists of rows, which the domain validates. The forms of an
exporter and of a TLS profile that a project names: the service says what is wrong in them."""

from itertools import zip_longest
from typing import Any

from django import forms

from campaigns.core.forms import CheckedForm, area, text_field, text_widget
from campaigns.domain.plan import tls_options
from campaigns.domain.plan.target import MOST_NAME, MOST_TOKEN, MOST_URL
from campaigns.domain.plan.tls_options import (
    CIPHERSUITES,
    GROUPS,
    LONGEST_OFFER,
    MAX_PEM_BYTES,
    OFFERED,
    SIGNATURES,
    VERSIONS,
    TlsOptions,
)
from campaigns.models import Target

FACT_EXAMPLES = {
    "CPU": "2 × Xeon E5-2640, 2.5 GHz",
    "Memory": "8 GB",
    "OS": "Debian 12, Linux 6.1",
    "Server software": "nginx 1.27.3",
    "Network": "1 Gbit/s, same rack as the injectors",
}
FACT_LABELS = tuple(FACT_EXAMPLES)
DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443"}
# Served by `make demo-target`, to measure without a server of your own.
DEMO = {
    "name": "demo",
    "endpoints": [("http", "127.0.0.1", "8081", True), ("https", "127.0.0.1", "8444", False)],
    "environment": [["Server software", "the bundled demo target (make demo-target)"]],
}
_TLS_TEXTS = (
    *("min_version", "max_version", "ciphers", "ca_pem", "sni", "client_certificate_pem"),
    *("fingerprint", "profile", "groups", "ciphersuites", "signatures"),
)


class TargetForm:
    """Rows are added and removed, so fields repeat under the same name instead of being numbered.
    `errors` maps the domain's paths ("endpoints.0.host") to sentences; rows carry their own."""

    def __init__(self, name: str, endpoints: list[tuple], environment: list[list[str]]):
        self.name = name
        self.endpoints = endpoints
        self.environment = environment
        self.errors: dict[str, str] = {}
        self.is_posted = False

    @classmethod
    def blank(cls):
        return cls("", [("http", "", "80", True), ("https", "", "443", True)], [])

    @classmethod
    def demo(cls):
        return cls(DEMO["name"], list(DEMO["endpoints"]), list(DEMO["environment"]))

    @classmethod
    def of(cls, target: Target):
        rows = [
            (
                each.scheme,
                each.host,
                str(each.port),
                each.verify_tls,
                {**each.tls, "has_key": each.has_client_key},
                each.address,
            )
            for each in target.endpoints.filter(archived_at=None)
        ]
        return cls(target.name, rows, target.environment)

    @classmethod
    def posted(cls, data):
        # Each row's options with its key; a row that was sent without TLS fields has the
        # defaults.
        names = (*_TLS_TEXTS, "client_key_pem", "alpn")
        columns = {name: data.getlist(f"tls_{name}") for name in names}
        options = []
        for index in range(len(data.getlist("scheme"))):
            row: dict[str, Any] = {
                name: column[index].strip() if index < len(column) else ""
                for name, column in columns.items()
            }
            row |= {name: row[name] or None for name in ("min_version", "max_version")}
            row["alpn"] = row["alpn"] != "no"
            options.append(row)
        rows = zip_longest(
            data.getlist("scheme"),
            data.getlist("host"),
            data.getlist("port"),
            data.getlist("verify_tls"),
            options,
            data.getlist("address"),
            fillvalue="",
        )
        facts = zip_longest(data.getlist("label"), data.getlist("value"), fillvalue="")
        form = cls(
            data.get("name", ""),
            [
                (scheme, host, port, verify != "no", tls or {}, address)
                for scheme, host, port, verify, tls, address in rows
                if host.strip() or port.strip() not in {"", DEFAULT_PORTS.get(scheme)}
            ],
            [list(fact) for fact in facts if fact[1].strip() or fact[0] not in ("", *FACT_LABELS)],
        )
        form.is_posted = True
        return form

    def is_valid(self) -> bool:
        return self.is_posted

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of create_target and edit_target."""
        return {
            "name": self.name,
            "environment": self.environment,
            "endpoints": [_endpoint(row) for row in self.endpoints],
        }

    def take_errors(self, errors: dict[str, str]) -> None:
        self.errors = errors

    def take_refusal(self, sentence: str) -> None:
        self.errors = {"refused": sentence}

    def endpoint_rows(self) -> list[dict[str, Any]]:
        rows = self.endpoints or [("http", "", "80", True)]
        return [
            dict(zip(_ROW, row, strict=False))
            | {"errors": self._errors_at(f"endpoints.{index}"), "has_tls": _has_tls(row)}
            for index, row in enumerate(rows)
        ]

    def fact_rows(self) -> list[dict[str, Any]]:
        """The given facts, then an empty row for each missing suggested label."""
        labels = {label for label, _ in self.environment}
        rows = [*self.environment, *([label, ""] for label in FACT_LABELS if label not in labels)]
        return [
            {
                "label": label,
                "value": value,
                "example": FACT_EXAMPLES.get(label, ""),
                "errors": self._errors_at(f"environment.{index}"),
            }
            for index, (label, value) in enumerate(rows)
        ]

    def _errors_at(self, path: str) -> dict[str, str]:
        start = f"{path}."
        return {
            name.removeprefix(start): sentence
            for name, sentence in self.errors.items()
            if name.startswith(start)
        }


_ROW = ("scheme", "host", "port", "verify_tls", "tls", "address")


def _endpoint(row: tuple) -> dict[str, Any]:
    """A row in the domain's form."""
    values = dict(zip(_ROW, row, strict=False))
    tls = values.get("tls") or {}
    values["client_key_pem"] = tls.get("client_key_pem", "")
    values["tls"] = {name: value for name, value in tls.items() if name != "client_key_pem"}
    return values


def _has_tls(row: tuple) -> bool:
    """Whether any TLS option differs from its default, so that the section must be open."""
    options = _endpoint(row)["tls"]
    return any(options.get(name, value) != value for name, value in TlsOptions().to_json().items())


class ExporterForm(CheckedForm):
    """A token is never shown again; an empty field keeps the stored one."""

    field_order = ("url", "token", "removes_token", "name", "is_server", "verify_tls", "ca_pem")

    url = text_field(
        "Metrics address",
        text_widget("input-wide", placeholder="http://10.0.0.5:9800/metrics", maxlength=MOST_URL),
        None,
        help_text="Of the agent, or of a node_exporter. Injector hosts ask it, so its network must "
        "be one that load may go to.",
    )
    name = text_field(
        "Name",
        text_widget("input-medium", placeholder="shop-1", maxlength=MOST_NAME),
        None,
        help_text="Of the machine, on the pages of runs. Leave empty for host and port.",
    )
    is_server = forms.BooleanField(
        label="This is the server itself",
        required=False,
        help_text="Tick it if the server that you measure answers here with metrics of its own "
        "process, which then count as its CPU and memory. Not for the agent or node_exporter.",
    )
    verify_tls = forms.BooleanField(
        label="Verify the certificate",
        required=False,
        initial=True,
        help_text="Of https. Switch it off to accept any.",
    )
    ca_pem = text_field(
        "Certificate to trust",
        area(3, **{"class": "input-wide"}),
        MAX_PEM_BYTES,
        help_text="PEM, of a self-signed certificate or of its authority. Leave empty for those "
        "that the injector hosts trust.",
    )
    token = text_field(
        "Bearer token",
        forms.PasswordInput(
            attrs={"class": "input-wide", "autocomplete": "off", "maxlength": MOST_TOKEN},
            render_value=True,  # what somebody typed, never what is stored
        ),
        None,
        help_text="To public addresses only over https with a verified certificate. Stored "
        "encrypted. Leave empty for a node_exporter without one.",
    )
    removes_token = forms.BooleanField(label="Remove the stored token", required=False)

    def __init__(self, *args: Any, has_token: bool = False, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if has_token:
            self.fields["token"].widget.attrs["placeholder"] = "stored; enter another to replace it"
        else:
            del self.fields["removes_token"]

    def fields_of_service(self) -> dict[str, Any]:
        """What the service takes; without a token the stored one stays."""
        data = dict(self.cleaned_data)
        token = data.pop("token") or None
        removes = data.pop("removes_token", False)
        return {**data, "token": token or ("" if removes else None)}


_VERSIONS = [("", "default"), *((each, f"TLS {each}") for each in VERSIONS)]


def _version(label: str) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=_VERSIONS, required=False)


def _names(label: str, example: str, hint: str) -> forms.CharField:
    widget = text_widget("input-wide", placeholder=example, maxlength=LONGEST_OFFER)
    return text_field(label, widget, None, help_text=hint)


class TlsProfileForm(CheckedForm):
    name = text_field(
        "Name",
        text_widget(
            "input-medium", placeholder="our mobile clients", maxlength=tls_options.MOST_NAME
        ),
        None,
        help_text="It tells endpoints and arms apart wherever they are shown.",
    )
    min_version = _version("Minimum version")
    max_version = _version("Maximum version")
    groups = _names(
        "Key exchange groups",
        "X25519MLKEM768:X25519",
        f"In the order of preference. Known: {', '.join(GROUPS)}.",
    )
    ciphersuites = _names(
        "Ciphers of TLS 1.3", "TLS_AES_128_GCM_SHA256", f"Known: {', '.join(CIPHERSUITES)}."
    )
    ciphers = _names("Ciphers of TLS 1.2", "ECDHE+AESGCM", "As OpenSSL writes lists of ciphers.")
    signatures = _names("Signatures", "ecdsa_secp256r1_sha256", f"Known: {', '.join(SIGNATURES)}.")

    def fields_of_service(self) -> dict[str, Any]:
        """The name, and what the profile offers."""
        data = self.cleaned_data
        return {"name": data["name"], **{name: data[name] for name in OFFERED}}
