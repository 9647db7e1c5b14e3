"""Connects requests to campaigns.core.permissions: the actor, and the rows visible to it. What
campaigns, plans, targets and projects share: rename, tag, archive, delete, find."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import set_response_etag
from django.utils.http import parse_etags
from django_filters import BooleanFilter, CharFilter
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import api_view
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from campaigns.core.access import find as find_visible
from campaigns.core.permissions import Action, Actor, project_of, require
from campaigns.domain.typed_text import LONGEST_TAG, MOST_TAGS
from campaigns.items.queries.filters import ListFilterSet
from campaigns.items.services import archive_items, delete_items, describe_item, restore_items
from campaigns.models import ApiToken
from campaigns.rest import fields
from campaigns.rest.parsers import AnyAccept


def actor_of(request: Request) -> Actor:
    """The token's owner narrowed by its scope, or the user of the session."""
    token = request.auth if isinstance(request.auth, ApiToken) else None
    return Actor(user=request.user, token=token)


def find(rows: type[Model] | QuerySet, request: Request, **lookup: Any) -> Any:
    """A row that the actor may see; others' rows give the same 404 as missing ones. `rows` is a
    model or a queryset of one."""
    return find_visible(rows, actor_of(request), **lookup)


def answers(
    operation_id: str,
    kind: Any,
    of: type[Model] | None = None,
    *,
    many: bool = False,
    **described: Any,
) -> Callable[[Callable[..., Any]], Callable[..., HttpResponseBase]]:
    """Makes a function a GET address. What it returns is answered as `kind`, a serializer; else it
    is a file, whatever the header Accept asks for. `of`: the function takes the row of this model
    that the address names, before what else it names."""
    is_file = not isinstance(kind, type)

    def decorate(make: Callable[..., Any]) -> Callable[..., HttpResponseBase]:
        @wraps(make)
        def answering(request: Request, **named: Any) -> HttpResponseBase:
            row = [find(of, request, pk=named.pop("pk"))] if of else []
            data = make(request, *row, **named)
            return data if is_file else Response(kind(data, many=many).data)

        view = api_view(["GET"])(answering)
        if is_file:
            view.cls.content_negotiation_class = AnyAccept
        responses = kind if is_file else kind(many=many)
        return extend_schema(operation_id=operation_id, responses=responses, **described)(view)

    return decorate


def refuse_unknown(request: Request, *known: str) -> None:
    """A misspelt parameter, or one of another address, would silently return everything."""
    available = f"Known: {', '.join(known)}." if known else "There are none here."
    faults = {
        name: [f"Unknown parameter. {available}"]
        for name in sorted(set(request.query_params) - set(known))
    }
    if faults:
        raise ValidationError(faults)


class ChangedSince(APIException):
    """What `If-Match` names is not what is stored."""

    status_code = 412
    default_code = "changed"
    default_detail = "It has changed since you read it. Read it again, and decide anew."


_CHANGES = {"PUT", "PATCH", "DELETE"}
_TRUE = {"true", "True"}
_SWITCHED = {*_TRUE, "false", "False"}


class ListFilterBackend(DjangoFilterBackend):
    def get_filterset_kwargs(self, request: Request, queryset: QuerySet, view: Any) -> dict:
        return {**super().get_filterset_kwargs(request, queryset, view), "actor": actor_of(request)}


class VisibleViewSet(GenericViewSet):
    """Views of one model whose every read starts from what the actor may see."""

    model: type[Model]
    filter_backends = (ListFilterBackend,)
    filterset_class: type[ListFilterSet] | None = None
    paging = ("page", "page_size", "format")
    input_class: type[fields.StrictSerializer]  # what is sent to create a row or to replace it

    def input(self, row: Any) -> dict[str, Any]:
        """Who may not edit in the row's project learns nothing of what they sent."""
        require(self.actor, Action.EDIT, project_of(row))
        return fields.validated(self.input_class, self.request.data)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """What `If-Match` was compared with stays as it is until the change is made."""
        if request.method not in _CHANGES or "If-Match" not in request.headers:
            return super().dispatch(request, *args, **kwargs)
        with transaction.atomic():
            answer = super().dispatch(request, *args, **kwargs)
            if answer.status_code >= 400:
                transaction.set_rollback(True)
            return answer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in _CHANGES and (if_match := request.headers.get("If-Match")):
            # A proxy, or we, may have compressed what was read: then its tag is a weak one.
            tags = [tag.removeprefix("W/") for tag in parse_etags(if_match)]
            if tags != ["*"] and self._etag() not in tags:
                raise ChangedSince

    def _etag(self) -> str:
        """Of what a GET of the row answers, which nobody changes until the transaction ends."""
        pk = self.get_object().pk
        rows = self.model.objects.filter(pk=pk).select_for_update(no_key=True)
        if not rows.values_list("pk").first():
            raise Http404
        data = self.get_serializer(self.get_queryset().get(pk=pk)).data
        renderer, kind = self.request.accepted_renderer, self.request.accepted_media_type
        body = renderer.render(data, kind, self.get_renderer_context())
        return set_response_etag(HttpResponse(body))["ETag"]

    def get_queryset(self) -> QuerySet:
        return self.model.objects.visible_to(self.actor)

    @property
    def actor(self) -> Actor:
        return actor_of(self.request)

    def page_of(self, rows: QuerySet) -> Response:
        """One page of the rows in the form of this view's serializer."""
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def answer(self, pk: int, status: int = 200) -> Response:
        """The row as it is in the database now, with the ETag that a GET of it has."""
        row = self.get_queryset().get(pk=pk)
        answer = Response(self.get_serializer(row).data, status)
        answer.add_post_render_callback(set_response_etag)
        return answer

    def list(self, request: Request) -> Response:
        """All rows that you can see, in pages."""
        self._refuse_unknown_filters()
        return self.page_of(self.filter_queryset(self.get_queryset()))

    def _refuse_unknown_filters(self) -> None:
        """A misspelt filter, a number or a time that is empty, and a switch that is neither true
        nor false would silently return unfiltered rows."""
        filters = self.filterset_class.get_filters() if self.filterset_class else {}
        names, params = [*filters, *self.paging], self.request.query_params
        sentence = f"Unknown filter. Available filters: {', '.join(names)}."
        faults = {name: [sentence] for name in sorted(set(params) - set(names))}
        for name, each in filters.items():
            if not isinstance(each, CharFilter) and params.get(name) == "":
                faults[name] = ["Write a value, or leave the filter out."]
            elif isinstance(each, BooleanFilter) and params.get(name, "true") not in _SWITCHED:
                faults[name] = ["Write true or false."]
        if faults:
            raise ValidationError(faults)

    def retrieve(self, request: Request, pk: int) -> Response:
        """One row that you can see."""
        return Response(self.get_serializer(self.get_object()).data)

    def destroy(self, request: Request, pk: int) -> Response:
        self.perform_destroy(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


class ResourceViewSet(VisibleViewSet):
    """Rows that clients list and create at the address of a row of `parent`, and replace and delete
    by number; a feature's services do it."""

    parent: type[Model] | QuerySet

    def get_queryset(self) -> QuerySet:
        rows = super().get_queryset()
        return rows.filter(**self.kwargs) if self.action == "list" else rows

    def list(self, request: Request, **_: int) -> Response:
        self.parent_row()
        return super().list(request)

    def create(self, request: Request, **_: int) -> Response:
        row = self.parent_row()
        return self.answer(self.perform_create(row, **self.input(row)).pk, 201)

    def update(self, request: Request, pk: int) -> Response:
        row = self.get_object()
        self.perform_update(row, **self.input(row))
        return self.answer(pk)

    def parent_row(self) -> Any:
        (pk,) = self.kwargs.values()
        return find(self.parent, self.request, pk=pk)


def describe(**texts: str) -> Callable[[type[VisibleViewSet]], type[VisibleViewSet]]:
    """What the API's description says of a view set's actions."""
    return extend_schema_view(**{name: extend_schema(description=texts[name]) for name in texts})


ITEM_FIELDS = ("tags", "archived_at", "deleted_at")


class Tagged(fields.StrictSerializer):
    """What can be given its tags when it is created or changed."""

    tags = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_TAG), required=False, max_length=MOST_TAGS
    )


class ItemChange(Tagged):
    """What PATCH changes; a field left out stays as it is."""

    name = serializers.CharField(required=False)
    archived = serializers.BooleanField(
        required=False, help_text="Archived items leave lists and forms; their results stay."
    )


class ItemViewSet(VisibleViewSet):
    @extend_schema(request=ItemChange)
    @transaction.atomic
    def partial_update(self, request: Request, pk: int) -> Response:
        """Renames, tags, archives or restores it."""
        item = self.get_object()
        require(self.actor, item.administered_by, item.home)
        change = fields.validated(ItemChange, request.data)
        describe_item(by=self.actor, item=item, name=change.get("name"), tags=change.get("tags"))
        if "archived" in change:
            move = archive_items if change["archived"] else restore_items
            move(by=self.actor, items=[item])
        return self.answer(item.pk)

    def get_queryset(self) -> QuerySet:
        in_trash = self.action == "list" and self.request.query_params.get("trash") in _TRUE
        if in_trash or self.action == "restore":
            return self.model.objects.in_trash(self.actor)
        return super().get_queryset()

    def destroy(self, request: Request, pk: int) -> Response:
        """Puts it into the trash, for 30 days. Refused (409) while it runs or is in use."""
        delete_items(by=self.actor, items=[self.get_object()])
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None)
    def restore(self, request: Request, pk: int) -> Response:
        """Takes it out of the trash. Refused (409) where another has its name by now."""
        restore_items(by=self.actor, items=[self.get_object()])
        self.action = "retrieve"
        return self.answer(pk)
