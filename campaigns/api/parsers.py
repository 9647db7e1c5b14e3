"""Accepted JSON: limited in its number of values, and storable in the database. Files ignore the
header Accept."""

import json
import sys
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

CSV = {(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "A CSV file.")}


class AnyAccept(BaseContentNegotiation):
    """For URLs with a single format: errors stay JSON, whatever was requested."""

    def select_parser(self, request, parsers):
        return parsers[0]

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type


_LARGEST = {bool: 1, int: 2**63 - 1, float: sys.float_info.max}
# What is not named by a view's `most_values`: reading so many takes some 100 ms at most, in which
# the web process answers nobody else.
MOST_VALUES = 10_000


class StorableJSONParser(BaseParser):
    """Refuses what DRF's own parser accepts: 1e999, NUL, unpaired surrogates, too many values."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(self, stream, media_type=None, parser_context=None) -> Any:
        data = stream.read()
        _refuse_many(data, getattr((parser_context or {}).get("view"), "most_values", MOST_VALUES))
        try:
            value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
            _check(value)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"This JSON cannot be stored: {error}") from error
        return value


def _refuse_many(data: bytes, most: int) -> None:
    """Before they are made: each takes some 100 bytes of memory."""
    if _n_marks(data) <= most:
        return
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A value is one text at most, and its name another.
    if plain.count(b'"') > 4 * most or _n_marks(b"".join(plain.split(b'"')[::2])) > most:
        raise ParseError(f"There are more than {most:,} values in it. Send fewer at a time.")


def _n_marks(data: bytes) -> int:
    """Outside of texts, each of them begins a value."""
    return sum(data.count(each) for each in (b",", b"[", b"{"))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number.")


def _check(value: Any) -> None:
    if isinstance(value, str):
        if "\0" in value or not _is_unicode(value):
            raise ValueError("a text contains NUL or half of a surrogate pair.")
    elif isinstance(value, dict):
        for key, each in value.items():
            _check(key)
            _check(each)
    elif isinstance(value, list):
        for each in value:
            _check(each)
    elif isinstance(value, int | float) and abs(value) > _LARGEST[type(value)]:
        raise ValueError("a number is too large.")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
