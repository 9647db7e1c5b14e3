"""@FILE in place of URL: the requests of a curl command, a HAR file and the like."""

import argparse
import sys
from dataclasses import dataclass, field
from typing import Any

from campaigns.domain.paste.reader import read_paste
from campaigns.domain.plan.session import AuthKind
from workers.injector.cli_fields import text_of
from workers.injector.local_run import tell

_SAID_THERE = ("method", "body", "form", "multipart", "step", "plan", "against")


@dataclass(frozen=True, slots=True)
class PasteFile:
    """`plan` has the fields of a plan that the file says, steps among them."""

    endpoint: dict[str, Any]
    plan: dict[str, Any]
    secrets: dict[str, str] = field(repr=False)
    pinned: str = ""
    is_insecure: bool = False


def read_file(options: argparse.Namespace) -> PasteFile:
    """Requests to another origin than the first one's are left out, as a line says. Raises
    NotUnderstood, ValueError, OSError."""
    for name in _SAID_THERE:
        if getattr(options, name):
            raise ValueError(f"--{name}: the file of {options.url} says that; change it there.")
    name = options.url[1:]
    paste = read_paste(sys.stdin.read() if name == "-" else text_of(name))
    first = paste.requests[0]
    own = [each for each in paste.requests if each.origin == first.origin]
    if n_others := len(paste.requests) - len(own):
        tell(f"Left out: {n_others} requests to other origins than {first.scheme}://{first.host}.")
    if paste.note:
        tell(paste.note)
    plan: dict[str, Any] = {"steps": [{**each.step, "extract": []} for each in own]}
    if first.auth_kind != AuthKind.NONE:
        plan["auth"] = first.auth
    if first.http_version:
        plan["http_version"] = first.http_version
    return PasteFile(
        {"scheme": first.scheme, "host": first.host, "port": first.port},
        plan,
        {"auth": first.secret} if first.secret else {},
        first.pinned,
        first.is_insecure,
    )
