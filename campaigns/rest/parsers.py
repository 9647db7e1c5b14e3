"""Accepted JSON: limited in its number of values, and storable in the database. Files ignore the
header Accept. Lists come in pages with a count and links to the next and previous one."""

import json
import re
import sys
from typing import Any

from django.core.paginator import InvalidPage, Page
from django.db.models import Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.exceptions import NotFound, ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.pagination import PageNumberPagination
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.urls import remove_query_param, replace_query_param

FILE = {(200, "application/octet-stream"): OpenApiResponse(OpenApiTypes.BINARY, "The file.")}
CSV = {(200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "A CSV file.")}


class AnyAccept(BaseContentNegotiation):
    """For URLs with a single format: errors stay JSON, whatever was requested."""

    def select_parser(self, request, parsers):
        return parsers[0]

    def select_renderer(self, request, renderers, format_suffix=None):
        return renderers[0], renderers[0].media_type


_LARGEST = {bool: 1, int: 2**63 - 1, float: sys.float_info.max}
# Reading so many takes some 100 ms at most, in which the web process answers nobody else.
MOST_VALUES = 10_000


class StorableJSONParser(BaseParser):
    """Refuses what DRF's own parser accepts: 1e999, NUL, unpaired surrogates, too many values."""

    media_type = "application/json"
    renderer_class = JSONRenderer

    def parse(self, stream, media_type=None, parser_context=None) -> Any:
        data = stream.read()
        _refuse_many(data)
        try:
            value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
            _check(value)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"The body is no JSON that can be stored: {error}") from error
        return value


def _refuse_many(data: bytes) -> None:
    """Before they are made: each takes some 100 bytes of memory."""
    if _n_marks(data) <= MOST_VALUES:
        return
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A value is one text at most, and its name another.
    n_quotes, n_marks = plain.count(b'"'), _n_marks(b"".join(plain.split(b'"')[::2]))
    if n_quotes > 4 * MOST_VALUES or n_marks > MOST_VALUES:
        raise ParseError(f"There are more than {MOST_VALUES:,} values in it. Send fewer at a time.")


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


class Pages(PageNumberPagination):
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_schema_operation_parameters(self, view) -> list[dict[str, Any]]:
        """Both are numbers from 1."""
        parameters = super().get_schema_operation_parameters(view)
        return [each | {"schema": each["schema"] | {"minimum": 1}} for each in parameters]

    def get_page_size(self, request) -> int:
        """What is no number is refused; a larger one than the largest means that."""
        _check_number(request, self.page_size_query_param)
        return super().get_page_size(request)

    def get_page_number(self, request, paginator) -> str:
        _check_number(request, self.page_query_param)
        return super().get_page_number(request, paginator)


def _check_number(request, name: str) -> None:
    number = request.query_params.get(name, "1")
    if not (number.isdecimal() and int(number[:10])):
        raise ValidationError({name: ["Write a number from 1."]})


class SecondPages(Pages):
    """Pages of a run's seconds. `next` also names the last row of its page, so that the last page
    costs no more than the first, however long the run."""

    after_param = "after_row"

    def paginate_queryset(self, queryset, request, view=None):
        after = request.query_params.get(self.after_param)
        edge = None
        if after is not None:
            match = re.fullmatch(r"(-?\d{1,9})\.(\d{1,9})\.(\d{1,9})", after)
            if match is None:
                raise ValidationError({self.after_param: ["Take it from the answer's next."]})
            edge = tuple(map(int, match.groups()))
        rows = (
            self._after(queryset, request, edge)
            if edge
            else super().paginate_queryset(queryset, request, view)
        )
        self._last = rows[-1] if rows else None
        return rows

    def _after(self, queryset: QuerySet, request, edge: tuple[int, int, int]) -> list:
        size = self.get_page_size(request)
        paginator = self.django_paginator_class(queryset, size)
        try:
            number = paginator.validate_number(self.get_page_number(request, paginator))
        except InvalidPage:
            raise NotFound(self.invalid_page_message) from None
        second, step, shard = edge
        in_step = Q(second=second, step=step, shard__gt=shard)
        later = Q(second__gt=second) | Q(second=second, step__gt=step) | in_step
        rows = list(queryset.filter(later, second__gte=second)[:size])
        self.request, self.page = request, Page(rows, number, paginator)
        return rows

    def get_next_link(self) -> str | None:
        link, last = super().get_next_link(), self._last
        if link is None or last is None:
            return None
        return replace_query_param(
            link, self.after_param, f"{last.second}.{last.step}.{last.shard}"
        )

    def get_previous_link(self) -> str | None:
        link = super().get_previous_link()
        return link and remove_query_param(link, self.after_param)
