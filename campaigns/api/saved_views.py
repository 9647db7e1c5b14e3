"""A user's own views of a project's list of campaigns: save one, list them, delete one."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.response import Response

from campaigns.api.access import VisibleViewSet, find
from campaigns.api.fields import IdField, StrictSerializer, validated
from campaigns.models import Campaign, Project, SavedView
from campaigns.permissions import require_may_write
from campaigns.queries.campaign_list import SINCE_DAYS, STATE_IS, VIEWS, makers_of
from campaigns.queries.items import ARCHIVED, SORTS
from campaigns.queries.run_list import MEASUREMENTS, PRECISIONS, TARGET_STATES
from campaigns.services.saved_views import delete_view, save_view

_SORTS = [f"{turned}{key}" for key in SORTS[Campaign] for turned in ("", "-")]


class ViewFilters(StrictSerializer):
    """In the order in which the page's address has them: equal choices are equal queries."""

    name = serializers.CharField(required=False, help_text="Part of a name, tag, target or plan.")
    state = serializers.ChoiceField(required=False, choices=list(STATE_IS))
    target = IdField(required=False)
    since = serializers.ChoiceField(
        required=False, choices=list(SINCE_DAYS), help_text="Of the last so many days."
    )
    by = serializers.CharField(required=False, help_text="Who created it, a username.")
    measurement = serializers.ChoiceField(required=False, choices=list(MEASUREMENTS))
    target_state = serializers.ChoiceField(required=False, choices=list(TARGET_STATES))
    precision = serializers.ChoiceField(required=False, choices=list(PRECISIONS))
    view = serializers.ChoiceField(required=False, choices=[*VIEWS, ARCHIVED])
    tag = serializers.CharField(required=False)
    sort = serializers.ChoiceField(required=False, choices=_SORTS)


class NewView(StrictSerializer):
    name = serializers.CharField(help_text="1 to 40 characters, once per project.")
    filters = ViewFilters(help_text="What the list is narrowed to and sorted by.")


class ViewSerializer(serializers.ModelSerializer):
    filters = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField(help_text="The path of the list's page in this view.")

    class Meta:
        model = SavedView
        fields = ("id", "project", "name", "filters", "url")
        read_only_fields = fields

    @extend_schema_field(ViewFilters)
    def get_filters(self, view: SavedView) -> dict[str, Any]:
        filters: dict[str, Any] = dict(parse_qsl(view.query))
        if "target" in filters:
            filters["target"] = int(filters["target"])
        if "by" in filters:
            filters["by"] = dict(makers_of(view.project)).get(int(filters["by"]), "")
        return filters

    def get_url(self, view: SavedView) -> str:
        return f"{reverse('campaign-list', args=[view.project_id])}?{view.query}"


class SavedViewViewSet(VisibleViewSet):
    model = SavedView
    serializer_class = ViewSerializer

    def get_queryset(self):
        own = super().get_queryset().filter(user=self.request.user.pk).select_related("project")
        project = self.kwargs.get("project")
        return own if project is None else own.filter(project=project)

    @extend_schema(operation_id="projects_views_list")
    def list(self, request, project):
        """Your own views of the project's list of campaigns, oldest first."""
        find(Project, request, pk=project)
        return super().list(request)

    @extend_schema(
        request=NewView, responses={201: ViewSerializer}, operation_id="projects_views_create"
    )
    def create(self, request, project):
        """Saves a view under a name. Only you see it, on the page and here."""
        found = find(Project, request, pk=project)
        require_may_write(self.actor)
        data = validated(NewView, request.data)
        query = _query_of(found, data["filters"])
        view = save_view(by=self.actor, project=found, name=data["name"], query=query)
        return self.answer(view.pk, status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request, pk):
        """Deletes one of your views. Its campaigns stay."""
        delete_view(by=self.actor, view=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


def _query_of(project: Project, filters: dict[str, Any]) -> str:
    """The filters as the query of the page's address. Raises ValidationError for a target or a
    user that the list has not."""
    chosen = {name: filters[name] for name in ViewFilters().fields if name in filters}
    if "target" in chosen and not project.targets.filter(pk=chosen["target"]).exists():
        raise _refused("target", "The project has no such target.")
    if "by" in chosen:
        makers = {name: pk for pk, name in makers_of(project)}
        if chosen["by"] not in makers:
            raise _refused("by", "Nobody with this username has created a campaign here.")
        chosen["by"] = makers[chosen["by"]]
    return urlencode(chosen)


def _refused(name: str, text: str) -> serializers.ValidationError:
    return serializers.ValidationError({"filters": {name: [text]}})
