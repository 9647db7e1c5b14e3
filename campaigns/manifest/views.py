"""Settings → As code: the project as a file; a file, what it would change, and the change."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_GET

from campaigns.core.access import render_page, saved_by, signed_in_form, signed_in_get
from campaigns.core.forms import CheckedForm
from campaigns.core.permissions import Action, Actor, require
from campaigns.core.transfer import takes_bytes
from campaigns.manifest.api import manifest_file
from campaigns.manifest.content import exported
from campaigns.manifest.schema import json_schema
from campaigns.manifest.services import apply_manifest
from campaigns.models import Project


class ManifestForm(CheckedForm):
    text = forms.CharField(
        strip=False,
        label="benchsite.yaml",
        error_messages={"required": "Paste a file, or choose one."},
        widget=forms.Textarea(
            attrs={"rows": 14, "class": "mono", "spellcheck": "false", "autocomplete": "off"}
        ),
    )
    prune = forms.BooleanField(required=False, label="Delete what the file doesn’t name")
    # Of the changes that were shown.
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    @classmethod
    def of(cls, request: HttpRequest) -> "ManifestForm":
        """Of a chosen file its text is as if it were pasted."""
        data = request.POST.copy()
        if upload := request.FILES.get("file"):
            data["text"] = upload.read().decode("utf-8-sig", "replace")
        return cls(data)

    def clean_text(self) -> str:
        text = self.cleaned_data["text"]
        if "\ufffd" in text:
            raise forms.ValidationError("Save the file as UTF-8 first.")
        return text

    def fields_of_service(self) -> dict[str, Any]:
        """A preview is of the changes as they are by now."""
        is_preview = "apply" not in self.data
        return self.cleaned_data | ({"version": None} if is_preview else {})

    def take_errors(self, errors: Mapping[str, str]) -> None:
        for name, sentence in errors.items():
            line, _, words = sentence.partition(": ")
            where = line if name == "file" else f"{line}, {name}"
            self.add_error("text", f"{where}: {words}")


@takes_bytes(settings.MOST_MANIFEST_BYTES + 64 * 1024)
@signed_in_form(Project)
def project_manifest(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """A POST shows what the file would change; with `apply` it makes what was shown."""
    form, changes = ManifestForm(), None
    if request.method == "POST":
        require(actor, Action.EDIT, project)
        form, is_preview = ManifestForm.of(request), "apply" not in request.POST
        changes = saved_by(form, apply_manifest, by=actor, project=project, dry_run=is_preview)
        if changes is not None and not is_preview:
            messages.success(request, f"The file is applied: {changes.sentence}.")
            return redirect("project-manifest", project=project.pk)
    schema = request.build_absolute_uri(reverse("manifest-schema-file"))
    context = {"form": form, "changes": changes}
    context["text"] = exported(project, schema) if request.method != "POST" else ""
    return render_page(request, "manifest/page.html", project, **context)


@signed_in_get(Project)
def project_manifest_file(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    return manifest_file(request, project)


@require_GET
def manifest_schema(request: HttpRequest) -> HttpResponse:
    """For editors. It holds nothing of this installation."""
    return HttpResponse(json_schema(), content_type="application/schema+json")


urlpatterns = [
    path("projects/<int:project>/manifest/", project_manifest, name="project-manifest"),
    path(
        "projects/<int:project>/manifest.yaml", project_manifest_file, name="project-manifest-file"
    ),
    path("ci/benchsite.schema.json", manifest_schema, name="manifest-schema-file"),
]
