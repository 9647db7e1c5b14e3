"""What campaigns, plans, targets and projects share: rename, tag, archive, delete, find."""

import django_filters
from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.api.access import VisibleViewSet
from campaigns.api.fields import IdFilter, StrictSerializer, validated
from campaigns.domain.typed_text import LONGEST_TAG, MOST_TAGS
from campaigns.permissions import require
from campaigns.queries.items import SORTS, matching, ordered, with_tag
from campaigns.services.items import archive_items, delete_items, describe_item, restore_items

ITEM_FIELDS = ("tags", "archived_at")


class Tagged(StrictSerializer):
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


class ItemFilterSet(django_filters.FilterSet):
    archived = django_filters.BooleanFilter("archived_at", lookup_expr="isnull", exclude=True)
    tag = django_filters.CharFilter(method="with_tag", help_text="Only those with this tag.")
    search = django_filters.CharFilter(
        method="that_match", help_text="Part of a name, a tag, or of what belongs to the item."
    )

    def with_tag(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return with_tag(rows, value)

    def that_match(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(matching(rows.model, value))

    def sorted_by(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return ordered(rows, value)


class OfProject(ItemFilterSet):
    project = IdFilter()


def ordering_of(model: type) -> django_filters.ChoiceFilter:
    """The `ordering` filter of a list: a column of its page, "-" before it turns it round."""
    keys = [sign + key for key in SORTS[model] for sign in ("", "-")]
    return django_filters.ChoiceFilter(choices=[(key, key) for key in keys], method="sorted_by")


class ItemViewSet(VisibleViewSet):
    @extend_schema(request=ItemChange)
    @transaction.atomic
    def partial_update(self, request: Request, pk: int) -> Response:
        """Renames, tags, archives or restores it."""
        item = self.get_object()
        require(self.actor, item.administered_by, item.home)
        change = validated(ItemChange, request.data)
        describe_item(by=self.actor, item=item, name=change.get("name"), tags=change.get("tags"))
        if "archived" in change:
            move = archive_items if change["archived"] else restore_items
            move(by=self.actor, items=[item])
        return self.answer(item.pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Deletes it with all that belongs to it. Refused (409) while it runs or is in use."""
        delete_items(by=self.actor, items=[self.get_object()])
        return Response(status=status.HTTP_204_NO_CONTENT)
