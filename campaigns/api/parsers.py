"""Accepted JSON: limited in size and storable in the database."""

import json
import math
import re
from typing import Any

from django.conf import settings
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

_LARGEST = 2**63 - 1
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")


class TooLarge(APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class StorableJSONParser(BaseParser):
    """Refuses what DRF's own parser accepts: 1e999, NUL, unpaired surrogates."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(self, stream, media_type=None, parser_context=None) -> Any:
        data = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(data) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise TooLarge(f"At most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes.")
        try:
            value = json.loads(
                data.decode("utf-8"),
                parse_int=_whole,
                parse_float=_finite,
                parse_constant=_no_constant,
            )
            _check_texts(value)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"This JSON cannot be stored: {error}") from error
        return value


def _whole(digits: str) -> int:
    value = int(digits) if len(digits) < 30 else _LARGEST + 1
    if abs(value) > _LARGEST:
        raise ValueError(f"{digits[:30]} is too large for a number.")
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:30]} is too large for a number.")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number.")


def _check_texts(value: Any) -> None:
    if isinstance(value, str):
        if _NOT_STORABLE.search(value):
            raise ValueError("a text contains NUL or half of a surrogate pair.")
    elif isinstance(value, dict):
        for key, each in value.items():
            _check_texts(key)
            _check_texts(each)
    elif isinstance(value, list):
        for each in value:
            _check_texts(each)
