"""benchsite.yaml over REST: preview and apply a file, export one."""

from django.conf import settings
from django.http import HttpResponse
from django.urls import path, reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.manifest.content import exported
from campaigns.manifest.schema import Manifest
from campaigns.manifest.services import ManifestChanges, apply_manifest
from campaigns.models import Project
from campaigns.rest import fields
from campaigns.rest.access import actor_of, answers, find, refuse_unknown

YAML = "application/yaml"
_FILE = {(200, YAML): OpenApiResponse(OpenApiTypes.STR, "A benchsite.yaml.")}


_ChangesSerializer = fields.serializer_of(ManifestChanges, "sentence version text changes")


class YamlParser(BaseParser):
    """The text as it is: what is wrong with it is said with its line."""

    media_type = YAML

    def parse(self, stream, media_type=None, parser_context=None) -> str:
        try:
            return stream.read().decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            raise ParseError("The file must be UTF-8.") from fault


class JsonAsYaml(YamlParser):
    """JSON is YAML."""

    media_type = "application/json"


class ManifestQuery(fields.QuerySerializer):
    dry_run = serializers.BooleanField(default=False, help_text="Answer the changes and make none.")
    prune = serializers.BooleanField(
        default=False,
        help_text="Also delete what the file does not name; archive what was measured.",
    )
    version = serializers.CharField(
        required=False,
        max_length=64,
        help_text="Of a dry run: refused (409) if the changes are others by now.",
    )


class ManifestOfProject(APIView):
    parser_classes = (YamlParser, JsonAsYaml)
    most_body_bytes = settings.MOST_MANIFEST_BYTES

    @extend_schema(
        request={YAML: Manifest, JsonAsYaml.media_type: Manifest},
        parameters=[ManifestQuery],
        responses=_ChangesSerializer,
        operation_id="projects_manifest",
    )
    def post(self, request, pk):
        """Makes the project have what a benchsite.yaml says, all of it or nothing. Faults have the
        line of the file. Its JSON Schema is at `/ci/benchsite.schema.json`."""
        project = find(Project, request, pk=pk)
        query = fields.validated(ManifestQuery, request.query_params.dict())
        text = request.data if isinstance(request.data, str) else ""
        changes = apply_manifest(by=actor_of(request), project=project, text=text, **query)
        return Response(_ChangesSerializer(changes).data)


@answers("projects_manifest_export", _FILE, Project)
def manifest_of_project(request, project: Project):
    """The project as a benchsite.yaml, without secrets: it makes the same in an empty project."""
    refuse_unknown(request)
    return manifest_file(request, project)


def manifest_file(request, project: Project) -> HttpResponse:
    schema = request.build_absolute_uri(reverse("manifest-schema-file"))
    disposition = {"Content-Disposition": 'attachment; filename="benchsite.yaml"'}
    return HttpResponse(exported(project, schema), content_type=YAML, headers=disposition)


urlpatterns = [
    path("projects/<int:pk>/manifest/", ManifestOfProject.as_view(), name="api-project-manifest"),
    path("projects/<int:pk>/manifest.yaml", manifest_of_project, name="api-project-manifest-file"),
]
