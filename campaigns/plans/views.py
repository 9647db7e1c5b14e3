"""Plans: the list, one plan with its versions, and the form. The live preview of a plan beside its
form, with a drawing of its load."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from campaigns.campaigns.queries.campaign_grid import grid_of
from campaigns.campaigns.queries.checks import Check, room_checks, room_of
from campaigns.core.access import (
    Edit,
    find,
    render_page,
    saved_by,
    signed_in_form,
    signed_in_get,
    signed_in_post,
    signed_in_safe,
    whole,
)
from campaigns.core.drawings import round_up
from campaigns.core.permissions import Action, Actor
from campaigns.core.tables import bytes_file
from campaigns.core.transfer import takes_bytes
from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.domain.other_tools.equivalents import equivalents
from campaigns.domain.percentiles import highest_percentile
from campaigns.domain.plan.estimates import estimate_test, sessions_by_flow
from campaigns.domain.plan.fields import all_fields
from campaigns.domain.plan.load import LoadCurve, load_curve, planned_arrivals, planned_duration_s
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import GENERAL, PRESETS, STUDIES, Preset
from campaigns.domain.presentation import plan_words
from campaigns.domain.presentation.charts import (
    Axis,
    Band,
    Chart,
    Charts,
    LineStyle,
    Mark,
    Places,
    Series,
    columns,
)
from campaigns.domain.presentation.cost_words import DEPENDS, sessions_words
from campaigns.domain.presentation.plan_words import (
    arrival_noun,
    curve_unit,
    load_sentence,
    session_facts,
)
from campaigns.domain.units import DASH, duration
from campaigns.engine.queries.injector_hosts import hosts
from campaigns.items.queries import items as queries
from campaigns.items.views.items import TRASH, items_context, trash_list
from campaigns.models import Endpoint, PlanVersion, Project, SavedPlan
from campaigns.plans import services
from campaigns.plans.forms.plan_fields import MODEL_WORDS, MODELS
from campaigns.plans.forms.plan_steps import ORDER_WORDS, rearranged
from campaigns.plans.forms.plans import PlanForm
from campaigns.plans.services import keep_body
from campaigns.probes.queries.first_requests import TriedRequest
from campaigns.probes.services.typed_targets import try_next_step, went_well

_LABELS = {"name": "Name"} | {path: row.label for path, row in all_fields(Plan).items()}


@signed_in_safe(Project)
def plan_list(request: HttpRequest, actor: Actor, project: Project):
    if request.GET.get("view") == TRASH:
        return trash_list(request, "plan", project)
    context = items_context(request, "plan", project)
    context |= {
        "plans": queries.with_newest(context["page"]),
        "preset_groups": [
            (group, list(each)) for group, each in groupby(PRESETS.values(), attrgetter("group"))
        ],
    }
    return render_page(request, "plans/list.html", **context)


@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
@signed_in_form(Project, Action.EDIT)
def plan_new(request: HttpRequest, actor: Actor, project: Project):
    preset = PRESETS.get(request.GET.get("preset", ""))
    # The plan of the project that a new one begins with.
    number = whole(request.GET.get("copy", ""))
    source = project.plans.filter(archived_at=None, pk=number).first() if number else None
    form = PlanForm()
    if preset:
        form = PlanForm.of(preset.name, preset.spec)
    elif source:
        form = PlanForm.of(f"{source.name} copy"[:100], source.latest.value().to_json())
    if "arrange" in request.POST:
        form = _rearranged_form(request)
    elif request.method == "POST":
        form = PlanForm(request.POST, request.FILES)
        form.base = preset and preset.spec
        new = SavedPlan(project=project)
        if version := _save(form, new, services.create_plan, by=actor, project=project):
            if request.POST.get("then") == "campaign":
                return redirect(campaign_address(version.plan, preset))
            messages.success(request, f"{version.plan.name} created. Next, use it in a campaign.")
            return redirect("plan-detail", plan=version.plan_id)
    return _form_page(request, project, form, preset=preset)


def _rearranged_form(request: HttpRequest) -> PlanForm:
    """The form with its steps in another order, where no script does it; a file is chosen again."""
    return PlanForm(initial=rearranged(request.POST.dict(), request.POST["arrange"]))


def campaign_address(plan: SavedPlan, preset: Preset | None) -> str:
    """The URL of a new campaign's form, prefilled for this plan from the preset."""
    query = {"plan": plan.pk, **({"preset": preset.key} if preset else {})}
    return f"{reverse('campaign-new', args=[plan.project_id])}?{urlencode(query)}"


@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
@signed_in_form(SavedPlan, Action.EDIT)
def plan_edit(request: HttpRequest, actor: Actor, plan: SavedPlan):
    edit = Edit(request, lambda: services.content_of(plan), _LABELS)
    latest = plan.latest
    spec = latest.value().to_json()
    form = PlanForm.of(plan.name, spec)
    if "arrange" in request.POST:
        form = _rearranged_form(request)
    elif request.method == "POST":
        form = PlanForm(request.POST, request.FILES)
        form.base = spec
        how = {"service": services.edit_plan, "by": actor, "plan": plan}
        if version := _save(form, plan, edit.save, **how):
            words = f"Version {version.number} created. Earlier results keep theirs."
            if version.pk == latest.pk:
                words = f"No changes to the requests. Version {version.number} is still the latest."
            messages.success(request, words)
            return redirect("plan-detail", plan=plan.pk)
    row = find(SavedPlan, actor, pk=plan.pk)
    return _form_page(request, plan.project, form, plan=row, edit=edit)


@signed_in_safe(SavedPlan.objects.select_related("project"))
def plan_detail(request: HttpRequest, actor: Actor, plan: SavedPlan):
    versions = queries.versions_of(plan)
    number = request.GET.get("version") or str(versions[0].number)
    version = next((each for each in versions if str(each.number) == number), None)
    if version is None:
        raise Http404
    value = version.value()
    preset = next((each for each in PRESETS.values() if each.spec == value.to_json()), None)
    context = {
        "plan": plan,
        "version": version,
        "is_latest": version.pk == versions[0].pk,
        "versions": versions,
        "value": value,
        "steps": list(zip(value.steps, value.full_labels, strict=False)),
        "model": dict(MODELS)[value.load.model],
        "load_words": plan_words.plan_load_words(value),
        "order_words": plan_words.order_words(value),
        "session_facts": session_facts(value, has_secret=hasattr(plan, "secret")),
        "exchange_facts": plan_words.exchange_facts(value.exchange),
        "load_facts": plan_words.load_facts(value.load),
        "charts": charts_of(value),
        "n_requests": value.planned_requests,
        "sessions": sessions_words(sessions_by_flow(value, planned_arrivals(value.load))),
        "duration_s": planned_duration_s(value.load),
        "equivalents": equivalents(value),
        "campaign_address": campaign_address(plan, preset),
    }
    return render_page(request, "plans/detail.html", plan.project, **context)


@signed_in_get(SavedPlan.objects.select_related("project"))
def plan_file(request: HttpRequest, actor: Actor, plan: SavedPlan, sha256: str) -> HttpResponse:
    """A file that its requests send."""
    if blob := queries.file_of(plan, sha256):
        return bytes_file(*blob)
    raise Http404


def _save(form: PlanForm, row: SavedPlan, save: Any, /, **kwargs: Any) -> PlanVersion | None:
    if not form.is_valid():
        form.add_other_faults(partial(services.check, row))
    version = saved_by(form, save, **kwargs)
    for blob in () if version else form.uploads:
        keep_body(row.project, blob)  # so that nobody has to choose it again
    return version


def _form_page(request, project: Project, form: PlanForm, plan=None, preset=None, edit=None):
    grid = grid_of(project)
    # Those of the target that was measured last first.
    of_targets = (each for target in grid.recent_targets for each in grid.endpoints_of(target))
    context = {
        "form": form,
        "plan": plan,
        "edit": edit,
        "everyday": [each for each in PRESETS.values() if each.group == GENERAL],
        "studies": [each for each in PRESETS.values() if each.group == STUDIES],
        "own_plans": () if plan else project.plans.filter(archived_at=None).order_by("name"),
        "preset": preset,
        "base": json.dumps(form.base_of(preset.name, preset.spec)) if preset else "",
        "model_words": MODEL_WORDS,
        "order_words": ORDER_WORDS,
        "endpoints": [each for each in of_targets if each.scheme in ("http", "https")],
        "has_secret": plan is not None and hasattr(plan, "secret"),
        # `preview_of` a form as its page shows it, even if fields outside the load are invalid.
        **preview_of(_filled_form(form.data if form.is_bound else form.initial)),
    }
    return render_page(request, "plans/form.html", project, **context)


# The fields that determine a plan's cost; of bodies the page sends the size alone.
_READ = ("load", "session", "connection_mode", "timeouts", "warm_up_s", "flows")


class _PreviewForm(PlanForm):
    """The plan form without fields for further steps: of these, only their number and what is
    typed in them matter here."""

    takes_files = False

    def _add_step(self, prefix: str) -> None:
        pass

    def steps(self) -> list[dict[str, Any]]:
        return [{"method": "GET", "path": f"/{number}"} for number in range(self.step_count)]

    def order(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, slots=True)
class Preview:
    """One run's estimates as text."""

    duration: str
    requests: str
    nouns: str
    percentile: str
    checks: list[Check]
    charts: Charts
    sessions: str = ""  # of each flow


@signed_in_post(Project, Action.EDIT)
def plan_preview(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """The plan form's fragments for the current input."""
    return render(request, "plans/_preview.html", preview_of(_filled_form(request.POST)))


@signed_in_post(Project, Action.EDIT)
@takes_bytes(settings.MOST_PLAN_FORM_BYTES)
def plan_try(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """The test request of each step of what is typed, as far as they were sent; sends the next."""
    form = PlanForm(request.POST, request.FILES)
    context: dict[str, Any] = {"tried": [], "refusal": ""}
    try:
        if not form.is_valid():
            raise Refused("Correct the fields that are marked first.")
        endpoints = Endpoint.objects.filter(target__project=project, archived_at=None)
        endpoint = find(endpoints, actor, pk=request.POST.get("try_endpoint") or 0)
        key = request.POST.get("try_key", "")[:40]
        plan = Plan.from_json(form.spec() | {"thresholds": []})
        probes = try_next_step(by=actor, plan=plan, endpoint=endpoint, key=key)
        context["tried"] = list(map(TriedStep.of, probes))
        context["awaited"] = any(each.finished_at is None for each in probes) or (
            len(probes) < len(plan.steps) and went_well(probes[-1])
        )
    except InvalidPlan as invalid:
        context["refusal"] = next(iter(invalid.errors.values()))
    except Refused as refusal:
        context["refusal"] = str(refusal)
    return render(request, "plans/_tried.html", context)


class TriedStep(TriedRequest):
    @property
    def words(self) -> str:
        """200 OK, 14.2 ms"""
        took = self.report.total_ms if self.report else ""
        return f"{self.status_words}, {took} ms" if took else self.status_words

    @property
    def is_right(self) -> bool:
        return went_well(self.probe)


def preview_of(form: _PreviewForm) -> dict[str, Any]:
    """{"preview": Preview, or None on an error, "problem": the error, "arrivals": noun, and what
    the closed parts of the form say}."""
    plan = _plan_of(form)
    data, problem = form.cleaned_data, ""
    if plan is None:
        faulty = next(((n, field) for n, field in form.fields.items() if n in form.errors), None)
        problem = next(iter(form.non_field_errors()), "")
        if faulty:
            name, field = faulty
            problem = f"{field.label or name.capitalize()}: {form.errors[name][0]}"
    return {
        "preview": plan and _preview(plan),
        "problem": problem,
        "arrivals": arrival_noun(
            data.get("model"), data.get("arrival_unit"), is_exchange=form.is_exchange
        ),
        "disclosures": form.disclosures,
        "step_blocks": form.step_blocks,
        "closed_rows": (form.order_disclosure, form.messages_disclosure, *form.disclosures),
    }


def charts_of(plan: Plan) -> Charts:
    curve = load_curve(plan.load, plan.warm_up_s)
    return load_charts(curve, curve_unit(plan), load_sentence(plan))


def _filled_form(values: Mapping[str, Any]) -> _PreviewForm:
    """A bound form; values missing in `values` have a new form's defaults."""
    new = {name: field.initial for name, field in PlanForm.base_fields.items()}
    return _PreviewForm(new | {name: values[name] for name in values})


def _plan_of(form: _PreviewForm) -> Plan | None:
    """The part of the plan that a preview needs, or None with the reason in the form's errors."""
    if not form.is_valid():
        return None
    spec = form.spec()
    values = {name: spec[name] for name in _READ if name in spec}
    parts = {"exchange": {}} if form.is_exchange else {"steps": spec["steps"]}
    try:
        return Plan.from_json(values | parts)
    except InvalidPlan as invalid:
        form.take_errors(invalid.errors)
        return None


def _preview(plan: Plan) -> Preview:
    injectors = len(plan.load.shares) or 1
    estimate = estimate_test(plan, plan.connection_mode, 0, injectors)
    requests, each = estimate.requests, " each" if plan.load.per_injector else ""
    return Preview(
        duration=DEPENDS if estimate.duration_s is None else duration(estimate.duration_s),
        requests=DEPENDS if requests is None else f"{requests:,}{each}",
        nouns=plan.nouns,
        percentile=DEPENDS if requests is None else highest_percentile(requests).label or DASH,
        checks=list(room_checks(estimate, room_of(hosts()))),
        charts=charts_of(plan),
        sessions=sessions_words(estimate.sessions),
    )


# The last part of a load without a planned end is dotted.
_SOLID_SHARE = 0.7
_INK = LineStyle("ink")


def load_charts(curve: LoadCurve, unit: str, sentence: str) -> Charts:
    """The load of one run; single arrivals are dots at the foot."""
    points, n_weak = list(curve.points), 0
    if curve.is_open_ended:
        (start, _), (end, level) = points[-2:]
        points.insert(-1, (start + (end - start) * _SOLID_SHARE, level))
        n_weak = 1
    begin, arrivals = curve.begin_s, curve.arrivals_s
    by_second = dict(points)
    series = [
        Series(
            style=_INK,
            width=2,
            weak=[False] * (len(points) - n_weak) + [True] * n_weak,
            **columns("x y", points),
        )
    ]
    if arrivals:
        series.append(
            Series(style=_INK, look="foot", radius=1.5, x=arrivals, y=[0.0] * len(arrivals))
        )
    hatching = "; hatched = warm-up, not counted" if begin < 0 else ""
    return Charts(
        "load",
        "Load of one run",
        panels=[
            Chart(
                "load",
                "Load of one run",
                unit,
                sentence,
                size="load",
                x=Axis(title="second", low=begin, high=curve.end_s),
                y=Axis(high=round_up(1.15 * curve.peak)),
                series=series,
                bands=[Band(low=begin, high=0, look="hatch")] if begin < 0 else [],
                marks=[Mark(at=0, colour="line-control")] if begin < 0 else [],
                reads=[f"{level:,.4g} {unit}" for level in by_second.values()],
                note=f"{sentence} Seconds on the x axis{hatching}.",
            )
        ],
        places=Places(x=list(by_second), at=[f"{second:,.4g} s" for second in by_second]),
    )
