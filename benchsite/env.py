"""Reads environment variables; errors name the variable and the valid values.

An empty variable counts as unset, because compose passes unset variables as empty.
"""

import ipaddress
import json
import os
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

_TRUE = {"1", "true", "yes", "on"}
SHORTEST_SECRET = 32
FEWEST_CHARACTERS = 8
_FALSE = {"0", "false", "no", "off"}
# Enough for every number, and short enough for dates to be counted with.
MOST = 1_000_000
_WITH_PORTS = re.compile(r"(?:\[(?P<six>[^]]+)]|(?P<four>[^][:]+)):(?P<ports>\d+(?:-\d+)?)")


class WrongSetting(SystemExit):
    """Ends whichever process reads it, with this sentence instead of a traceback."""


def env_str(name: str, default: str = "") -> str:
    return os.environ.get(name) or default


def env_choice(name: str, choices: tuple[str, ...], default: str) -> str:
    text = env_str(name, default)
    if text not in choices:
        raise WrongSetting(f"{name}={text!r}: write one of {', '.join(choices)}.")
    return text


def env_bool(name: str, default: bool = False) -> bool:
    text = os.environ.get(name)
    if not text:
        return default
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise WrongSetting(f"{name}={text!r} is not a yes or a no. Write 1 or 0.")


def env_int(name: str, default: int, *, least: int = 0, most: int = MOST) -> int:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise WrongSetting(f"{name}={text!r}: write a whole number from {least} to {most}.")
    return number


def env_list(name: str, default: str = "") -> list[str]:
    """A list from "a,b c": commas and spaces both separate."""
    return env_str(name, default).replace(",", " ").split()


def env_hosts(name: str, default: str) -> list[str]:
    """Names without scheme and port, such as bench.example.org or [::1]."""
    hosts = env_list(name, default)
    for host in hosts:
        if "/" in host or (":" in host and not host.endswith("]")):
            raise WrongSetting(f"{name}: {host!r} is more than a name: write bench.example.org.")
    return hosts


def env_words(name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """A command, split into words like in a shell."""
    try:
        return tuple(shlex.split(env_str(name))) or default
    except ValueError as error:
        raise WrongSetting(f"{name} cannot be split into words: {error}.") from None


def env_networks(name: str, default: str = "") -> list[str]:
    """A list of networks such as 10.0.0.0/8 or fc00::/7; a single address is a network too."""
    networks = env_list(name, default)
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise WrongSetting(f"{name}: {error}. Write such as 10.1.0.0/16.") from None
    return networks


def env_allowed(name: str, default: str = "") -> list[str]:
    """Networks, each alone or with a port or a range of them: 10.1.0.0/16:8000-8999."""
    entries = env_list(name, default)
    for entry in entries:
        network, ports = _without_ports(entry)
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise WrongSetting(
                f"{name}: {error}. Write such as 10.1.0.0/16, 10.1.0.0/16:443 or [fc00::/7]:443."
            ) from None
        numbers = [int(port) for port in ports.split("-")] if ports else [1]
        if not 1 <= numbers[0] <= numbers[-1] <= 65535:
            raise WrongSetting(f"{name}: {entry!r} has ports that are not from 1 to 65535.")
    return entries


def _without_ports(entry: str) -> tuple[str, str]:
    """(the network, its ports or "")"""
    match = _WITH_PORTS.fullmatch(entry)
    return (match["six"] or match["four"], match["ports"]) if match else (entry, "")


def env_services(name: str, default: str = "") -> list[tuple[str, int]]:
    """Hosts with ports, such as web:8000 or [fc00::5]:443."""
    services = []
    for text in env_list(name, default):
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise WrongSetting(f"{name}: {text!r} is not a host with a port: web:8000.")
        services.append((host.strip("[]"), int(port)))
    return services


def env_proxies(name: str, default: str) -> list[str]:
    """Addresses or networks of proxies, or "*"."""
    return ["*"] if env_str(name) == "*" else env_networks(name, default)


def env_limits(name: str) -> dict[str, list[float | None]]:
    """JSON such as {"cpu": [0.7, 0.9]}; {} if it is not set."""
    text = env_str(name, "{}")
    try:
        limits = json.loads(text)
        values = limits.values()
        if all(isinstance(each, list) and len(each) == 2 for each in values) and all(
            limit is None or isinstance(limit, int | float) for each in values for limit in each
        ):
            return limits
    except (AttributeError, ValueError):
        pass
    raise WrongSetting(f'{name}={text!r}: write JSON such as {{"cpu": [0.7, 0.9]}}.')


def env_origin(name: str) -> dict[str, str | int] | None:
    """Scheme, host and port of an address such as http://127.0.0.1:8081; None if it is not set."""
    text = env_str(name)
    if not text:
        return None
    try:
        parts = urlsplit(text)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        if parts.hostname and parts.path in ("", "/") and not parts.query:
            return {"scheme": parts.scheme, "host": parts.hostname, "port": port}
    except (KeyError, ValueError):
        pass
    raise WrongSetting(f"{name}={text!r}: write such as http://127.0.0.1:8081.")


def env_oidc(key: str, is_server: bool) -> dict[str, list[dict[str, object]]]:
    """allauth's settings for the provider, by its `key` in addresses; without
    BENCHSITE_OIDC_ISSUER there is none."""
    issuer = env_str("BENCHSITE_OIDC_ISSUER").rstrip("/")
    client = env_str("BENCHSITE_OIDC_CLIENT_ID")
    secret = env_secret("BENCHSITE_OIDC_CLIENT_SECRET")
    trusts_email = env_bool("BENCHSITE_OIDC_TRUST_EMAIL")
    if not issuer:
        return {"APPS": []}
    scheme = "https" if is_server else "http"
    if not issuer.startswith(("https://", f"{scheme}://")):
        raise WrongSetting(f"BENCHSITE_OIDC_ISSUER={issuer!r}: write such as https://sso.example.")
    if not (client and secret):
        raise WrongSetting(
            "BENCHSITE_OIDC_ISSUER needs BENCHSITE_OIDC_CLIENT_ID and _CLIENT_SECRET: register "
            "benchsite at the provider, which gives you both."
        )
    return {
        "APPS": [
            {
                "provider_id": key,
                "name": env_str("BENCHSITE_OIDC_NAME", "single sign-on"),
                "client_id": client,
                "secret": secret,
                "settings": {"server_url": issuer, "email_authentication": trusts_email},
            }
        ]
    }


_MAIL_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


def env_smtp(name: str) -> dict[str, str | int | bool]:
    """Django's settings for a mail server such as smtps://user:password@mail.example; {} if it is
    not set."""
    text = env_secret(name)
    if not text:
        return {}
    try:
        parts = urlsplit(text)
        port = parts.port or _MAIL_PORTS[parts.scheme]
    except (KeyError, ValueError):
        port = 0
    # The text has a password, so no message repeats it.
    if not port or not parts.hostname:
        raise WrongSetting(
            f"{name}: write such as smtps://user:password@mail.example or "
            "smtp+starttls://user:password@mail.example:587."
        )
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+starttls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
    }


def env_secret(name: str) -> str:
    """A secret from NAME, or from the file named by NAME_FILE; "" if neither is set."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text().strip()
        except OSError as error:
            raise WrongSetting(f"{name}_FILE={path!r} cannot be read: {error}.") from None
    return os.environ.get(name, "")


def refuse_weak(name: str, secret: str) -> None:
    """A server's secret must not be one that can be guessed."""
    if len(secret) < SHORTEST_SECRET or len(set(secret)) < FEWEST_CHARACTERS:
        raise WrongSetting(
            f"{name} is too weak for a server: write at least {SHORTEST_SECRET} random characters. "
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))" prints some.'
        )


def refuse_everywhere(name: str, networks: list[str]) -> None:
    """A list that holds all addresses protects nobody from this installation's load."""
    for network in networks:
        if ipaddress.ip_network(_without_ports(network)[0]).prefixlen == 0:
            raise WrongSetting(
                f"{name}: {network} allows load to every address. List the networks that you may "
                "put under load."
            )
