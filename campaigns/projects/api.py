"""The actor's projects, and the actor's role in each. What a project uses of its caps and stores,
for its owners; and the injector hosts. Plans and their versions: read, create, edit (which creates
a version), archive; and the presets."""

from django.conf import settings
from django.db import transaction
from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.core.permissions import Action, may_anywhere, require
from campaigns.core.tables import bytes_file
from campaigns.domain.errors import InvalidFields
from campaigns.domain.paste.reader import read_paste
from campaigns.domain.plan.presets import PRESETS, Preset
from campaigns.domain.plan.typed_request import FilesMissing, NotUnderstood, require_files
from campaigns.domain.presentation.host_use import HostUse
from campaigns.engine.queries.injector_hosts import hosts
from campaigns.items.queries.filters import PlanFilterSet, ProjectFilterSet
from campaigns.items.queries.items import file_of, with_counts, with_latest
from campaigns.items.services import archive_items, describe_item
from campaigns.models import InjectorHost, PlanVersion, Project, SavedPlan
from campaigns.operations.queries import growth, most_requests_per_s, stored_of, use_of
from campaigns.plans.api import AuthSerializer, SpecSerializer, StepSerializer
from campaigns.plans.services import create_plan, edit_plan
from campaigns.rest import fields
from campaigns.rest.access import (
    ITEM_FIELDS,
    ItemViewSet,
    Tagged,
    VisibleViewSet,
    actor_of,
    answers,
    find,
    refuse_unknown,
)
from campaigns.rest.parsers import FILE


class ProjectSerializer(fields.ReadSerializer):
    role = serializers.ChoiceField(choices=fields.ROLES, help_text="Your role in this project.")

    class Meta:
        model = Project
        fields = ("id", "name", "role", "created_at", *ITEM_FIELDS)


class ProjectViewSet(ItemViewSet):
    model = Project
    serializer_class = ProjectSerializer
    filterset_class = ProjectFilterSet

    def get_queryset(self):
        return with_counts(super().get_queryset(), self.actor)


class HostUseSerializer(
    fields.serializer_of(
        HostUse, "load_1min others_share steal_share throttled_share is_busy programs"
    )
):
    """What else used the host in about the last 5 s; shares of 1."""


class InjectorHostSerializer(fields.ReadSerializer):
    online = serializers.BooleanField(source="is_alive", help_text="Heard of lately.")
    busy = serializers.IntegerField(help_text="Slots with an injector process.")
    use = HostUseSerializer(source="told", allow_null=True, help_text="Null where it is not known.")

    class Meta:
        model = InjectorHost
        fields = ("name", "online", "slots", "busy", "seen_at", "started_at", "facts", "use")


@answers("injectors_list", InjectorHostSerializer, many=True)
def injector_host_list(request):
    """The machines that send the load, by name, shared by all projects."""
    refuse_unknown(request, "format")
    return hosts(has_names=may_anywhere(actor_of(request), Action.RUN))


class CapSerializer(serializers.Serializer):
    cap = serializers.CharField(source="cap.name")
    title = serializers.CharField(source="cap.title")
    unit = serializers.CharField(source="cap.unit", help_text="s, bytes, or empty for a number.")
    used = serializers.FloatField()
    planned = serializers.FloatField(help_text="What queued and active runs will add.")
    most = serializers.FloatField(allow_null=True, help_text="Null without a cap.")
    of = serializers.CharField(
        source="ceiling.of", help_text="What a share is of, such as 75 % of 12; else empty."
    )


class StoredSerializer(serializers.Serializer):
    """Bytes of the project's runs, by kind."""

    n_runs = serializers.IntegerField(default=0)
    n_seconds = serializers.IntegerField(default=0)
    seconds_bytes = serializers.IntegerField(source="seconds", default=0)
    summary_bytes = serializers.IntegerField(source="summaries", default=0)
    example_bytes = serializers.IntegerField(source="examples", default=0)
    output_bytes = serializers.IntegerField(source="outputs", default=0)


class DaySerializer(serializers.Serializer):
    day = serializers.DateField()
    n_runs = serializers.IntegerField()
    stored_bytes = serializers.IntegerField()


class UseSerializer(serializers.Serializer):
    caps = CapSerializer(many=True)
    most_requests_per_s = serializers.FloatField(
        allow_null=True, help_text="To one address, of any project. Null without a cap."
    )
    stored = StoredSerializer()
    growth = DaySerializer(many=True, help_text="The last 30 days with runs, newest first.")


@answers("projects_use", UseSerializer, Project)
def use_of_project(request, project: Project):
    """What the project uses of its caps, and the bytes of its results. For owners."""
    require(actor_of(request), Action.ADMINISTER, project)
    return {
        "caps": use_of(project),
        "most_requests_per_s": most_requests_per_s(),
        "stored": stored_of(project),
        "growth": [
            {"day": day, "n_runs": n_runs, "stored_bytes": n_bytes}
            for day, n_runs, n_bytes in growth(project)
        ],
    }


class PasteText(fields.StrictSerializer):
    text = serializers.CharField(
        trim_whitespace=False,
        help_text="A command of curl (bash, cmd, PowerShell), HTTPie or PowerShell, fetch(…), a "
        "raw request, a .http file, a HAR file, or an OpenAPI document in JSON or YAML.",
    )


_SEND_FILES = (
    "It is a file of your machine. Leave it out here, and send its bytes as base64 in the step: as "
    "`body_file`, or as `file` of a field in `multipart`."
)


class ReadRequest(serializers.Serializer):
    origin = serializers.CharField()
    address = serializers.CharField(help_text="What --resolve pinned it to.")
    step = StepSerializer(help_text="For `steps` of a plan.")
    auth = AuthSerializer(help_text="For `auth` of a plan.")
    http_version = serializers.CharField()
    redirects = serializers.CharField(help_text="For `redirects` of a plan.")
    is_insecure = serializers.BooleanField()


class ReadRequests(serializers.Serializer):
    requests = ReadRequest(many=True)
    note = serializers.CharField(help_text="What is left out, in one sentence.")


class RequestsOfText(APIView):
    most_body_bytes = settings.MOST_PASTE_BYTES

    @extend_schema(request=PasteText, responses=ReadRequests, operation_id="projects_read_requests")
    def post(self, request, pk):
        """Reads pasted requests as steps of a plan. Nothing is sent or stored; passwords and tokens
        are not answered."""
        project = find(Project, request, pk=pk)
        require(actor_of(request), Action.EDIT, project)
        text = fields.validated(PasteText, request.data)["text"]
        try:
            paste = read_paste(text)
            require_files(paste.requests)
        except FilesMissing as missing:
            raise InvalidFields({"text": f"{missing} {_SEND_FILES}"}) from None
        except NotUnderstood as fault:
            raise InvalidFields({"text": str(fault)}) from None
        rows = [
            {
                "origin": each.address.removesuffix(each.path),
                "address": each.pinned,
                "step": each.step,
                "auth": each.auth,
                "http_version": each.http_version or "1.1",
                "redirects": each.redirects or "off",
                "is_insecure": each.is_insecure,
            }
            for each in paste.requests
        ]
        return Response({"requests": rows, "note": paste.note})


@extend_schema_field(SpecSerializer)
class SpecField(serializers.JSONField):
    """A plan's JSON. The domain's own reader checks it, so that pages and API agree."""


class PlanVersionSerializer(fields.ReadSerializer):
    spec = SpecField()
    created_by = fields.user_field("created_by", "Who created it.")

    class Meta:
        model = PlanVersion
        fields = ("id", "plan", "number", "spec", "created_by", "created_at")


class PlanSerializer(fields.ReadSerializer):
    latest = serializers.SerializerMethodField()
    versions = serializers.SerializerMethodField(help_text="The numbers of all versions.")
    has_secret = serializers.SerializerMethodField(
        help_text="Whether a secret for the plan's credentials is stored; it is never shown."
    )
    secret_origins = serializers.SerializerMethodField(help_text="Where that secret may be sent.")

    class Meta:
        model = SavedPlan
        fields = (
            *("id", "project", "name", "latest", "versions"),
            *("has_secret", "secret_origins", "created_at", *ITEM_FIELDS),
        )

    @extend_schema_field(PlanVersionSerializer)
    def get_latest(self, plan: SavedPlan):
        versions = list(plan.versions.all())
        if not versions:  # the plan was deleted while it was read
            raise PlanVersion.DoesNotExist
        return PlanVersionSerializer(versions[-1]).data

    def get_versions(self, plan: SavedPlan) -> list[int]:
        return [version.number for version in plan.versions.all()]

    def get_has_secret(self, plan: SavedPlan) -> bool:
        return hasattr(plan, "secret")

    def get_secret_origins(self, plan: SavedPlan) -> list[str]:
        return plan.secret.origins if hasattr(plan, "secret") else []


class PlanInput(fields.StrictSerializer):
    name = serializers.CharField(max_length=100)
    spec = SpecField()
    secret = serializers.CharField(
        required=False,
        allow_blank=True,
        write_only=True,
        trim_whitespace=False,
        help_text="The secret of the plan's credentials. Omitted: unchanged. Empty: deleted.",
    )


class NewPlan(PlanInput, Tagged):
    project = fields.IdField()


class PlanViewSet(ItemViewSet):
    model = SavedPlan
    serializer_class = PlanSerializer
    input_class = PlanInput
    filterset_class = PlanFilterSet
    most_body_bytes = settings.MOST_PLAN_BYTES

    def get_queryset(self):
        plans = with_latest(super().get_queryset()).select_related("secret")
        return plans.prefetch_related("versions__created_by")

    def page_of(self, rows):
        """Without plans that were deleted while they were read."""
        page = [plan for plan in self.paginate_queryset(rows) if plan.versions.all()]
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    @extend_schema(request=NewPlan, responses={201: PlanSerializer})
    @transaction.atomic
    def create(self, request):
        data = fields.validated(NewPlan, request.data)
        project = find(Project, request, pk=data.pop("project"))
        tags = data.pop("tags", None)
        version = create_plan(by=self.actor, project=project, **data)
        if tags:
            describe_item(by=self.actor, item=version.plan, tags=tags)
        return self.answer(version.plan_id, status.HTTP_201_CREATED)

    def update(self, request, pk):
        """Creates a new version if the spec differs from the latest one."""
        plan = self.get_object()
        edit_plan(by=self.actor, plan=plan, **self.input(plan))
        return self.answer(plan.pk)

    @extend_schema(request=None, operation_id="plans_archive")
    def archive(self, request, pk):
        """Removes the plan from lists and forms. Its results are kept."""
        plan = self.get_object()
        archive_items(by=self.actor, items=[plan])
        return self.answer(plan.pk)


@answers("plans_file", FILE, SavedPlan)
def file_of_plan(request, plan: SavedPlan, sha256: str):
    """A file that the plan's requests send, by the `sha256` that its steps have for it."""
    refuse_unknown(request)
    if blob := file_of(plan, sha256):
        return bytes_file(*blob)
    raise Http404


class PlanVersionViewSet(VisibleViewSet):
    model = PlanVersion
    serializer_class = PlanVersionSerializer
    lookup_field = "number"

    def get_queryset(self):
        versions = super().get_queryset().select_related("created_by")
        return versions.filter(plan=self.kwargs.get("plan"))

    def list(self, request, plan):
        find(SavedPlan, request, pk=plan)
        return super().list(request)

    def retrieve(self, request, plan, number):
        return super().retrieve(request, number)


class PresetSerializer(fields.serializer_of(Preset, "key question summary name group")):
    spec = SpecField()


@answers("presets_list", PresetSerializer, many=True)
def preset_list(request):
    """All presets. Send a `spec` to `/plans/` to make a plan of it."""
    refuse_unknown(request, "format")
    return PRESETS.values()
