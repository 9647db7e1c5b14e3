"""What tools printed on the target's machine: add it to a run, download it, delete it."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from campaigns.domain.errors import InvalidFields
from campaigns.exports.files import text_file
from campaigns.forms.tool_outputs import OutputForm
from campaigns.models import ToolOutput
from campaigns.permissions import Action, require
from campaigns.services.tool_outputs import MOST_BYTES, add_output, delete_output
from campaigns.views.access import actor_of, answers_refusals, find
from campaigns.views.runs import find_run, page_with_faults
from campaigns.views.transfer import takes_bytes


@takes_bytes(2 * MOST_BYTES + 10_000)  # line ends become two bytes each
@login_required
@require_POST
@answers_refusals("run-detail")
def output_new(request: HttpRequest, run: int) -> HttpResponse:
    """The run's page with the text and what is wrong with it, until it can be kept."""
    actor = actor_of(request)
    found = find_run(actor, run)
    require(actor, Action.EDIT, found.campaign.project)
    form = OutputForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            data = form.cleaned_data
            output = add_output(by=actor, run=found, tool=data["tool"], text=data["text"])
        except InvalidFields as invalid:
            for field, fault in invalid.errors.items():
                form.add_error(field, fault)
        else:
            messages.success(request, f"The output of {output.tool} is added.")
            return redirect("run-detail", run=run)
    return page_with_faults(request, found, form)


@login_required
@require_GET
def output_text(request: HttpRequest, output: int) -> HttpResponse:
    found = find(ToolOutput.objects.select_related("run"), actor_of(request), pk=output)
    return text_file(f"run-{found.run.label}-output-{found.pk}.txt", found.text)


@login_required
@require_POST
def output_delete(request: HttpRequest, output: int) -> HttpResponse:
    rows = ToolOutput.objects.select_related("run__campaign__project")
    found = find(rows, actor_of(request), pk=output)
    delete_output(by=actor_of(request), output=found)
    messages.success(request, f"The output of {found.tool} is deleted.")
    return redirect("run-detail", run=found.run_id)
