"""The form of a protocol ladder. Error messages say what to enter."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from django import forms

from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS, Rung, rung_of_profile
from campaigns.domain.plan.tls_profiles import TlsProfile
from campaigns.domain.shown.ladder import SECTION_TITLES
from campaigns.forms.items import CHOOSE_ENDPOINT, ENDPOINT_GONE, PLAN_GONE, name_field
from campaigns.forms.numbers import CheckedForm, number_field
from campaigns.models import Endpoint, PlanVersion
from campaigns.queries.campaigns import Grid
from campaigns.services.blocks import MAX_REPEATS
from campaigns.services.campaigns import MAX_PAUSE_S

# The fields on which the estimate depends.
_COSTS = ("plan", "endpoint", "rungs", "repeats", "pause_s")


class LadderForm(CheckedForm):
    """Takes a `grid`, the plans and arms of the project, and its own TLS `profiles`: rungs too."""

    field_of: ClassVar = {"version": "plan"}

    name = name_field("ladder")
    plan = forms.ChoiceField(
        label="Plan",
        help_text="What is sent on every rung, and how hard. Rungs of HTTP/2 send the same by a "
        "plan of their own.",
        error_messages=PLAN_GONE,
    )
    endpoint = forms.ChoiceField(
        label="Endpoint",
        help_text="Rungs of other TLS profiles get endpoints of the same address.",
        error_messages=ENDPOINT_GONE,
    )
    rungs = forms.MultipleChoiceField(
        initial=list(USUAL_RUNGS), error_messages={"required": "Tick at least two rungs."}
    )
    repeats = number_field(
        forms.IntegerField, 1, MAX_REPEATS, initial=5, label="Repeats",
        help_text="A verdict needs three; intervals are between repeats."
    )  # fmt: skip
    pause_s = number_field(forms.FloatField, 0, MAX_PAUSE_S, initial=1, label="Pause between runs")

    def __init__(self, *args, grid: Grid, profiles: Sequence[TlsProfile] = (), **kwargs):
        super().__init__(*args, **kwargs)
        own = {rung.key: rung for rung in map(rung_of_profile, profiles)}
        self.offered = {**RUNGS, **own}
        self.fields["rungs"].choices = [(key, rung.title) for key, rung in self.offered.items()]
        self.versions = {str(version.pk): version for version in _plans(grid)}
        self.endpoints = {str(each.pk): each for each in _endpoints(grid)}
        self.fields["plan"].choices = [(pk, v.plan.name) for pk, v in self.versions.items()]
        choices = [(pk, each.named) for pk, each in self.endpoints.items()]
        self.fields["endpoint"].choices = [("", CHOOSE_ENDPOINT), *choices]

    @property
    def sections(self) -> list[tuple[str, list[tuple[Rung, bool]]]]:
        """(title, [(rung, is it ticked)]) in the order of the ladder."""
        ticked = set(self["rungs"].value() or ())
        found: dict[str, list[tuple[Rung, bool]]] = {}
        for key, rung in self.offered.items():
            of_section = found.setdefault(SECTION_TITLES[rung.section], [])
            of_section.append((rung, key in ticked))
        return list(found.items())

    def known(self) -> dict[str, Any]:
        """What has been filled in so far; what is missing or wrong as it was at first."""
        found = {name: self.get_initial_for_field(self.fields[name], name) for name in _COSTS}
        if self.is_bound:
            self.is_valid()
            typed = {name: self.cleaned_data[name] for name in _COSTS if name in self.cleaned_data}
            found |= {"rungs": [], **typed}
        return {
            "version": self.versions.get(found["plan"]),
            "endpoint": self.endpoints.get(found["endpoint"]),
            "rungs": [self.offered[key] for key in found["rungs"]],
            "repeats": found["repeats"],
            "pause_s": found["pause_s"],
        }

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of services.ladders.start_ladder."""
        values = dict(self.cleaned_data)
        version, endpoint = values.pop("plan"), values.pop("endpoint")
        return {
            **values,
            "version": self.versions[version],
            "endpoint": self.endpoints[endpoint],
        }


def _plans(grid: Grid) -> Iterator[PlanVersion]:
    """Those that a ladder can be made of: HTTP/1.1, no WebSocket."""
    for row in grid.plans:
        if row.plan.exchange is None and row.plan.http_version == HttpVersion.HTTP_1_1:
            yield row.version


def _endpoints(grid: Grid) -> Iterator[Endpoint]:
    """Each HTTPS origin of a target once, with the standard TLS profile where it has one."""
    https = {arm.endpoint for arm in grid.arms if arm.endpoint.scheme == "https"}
    seen = set()
    for each in sorted(https, key=lambda each: (each.target.name, each.tls_profile, each.pk)):
        if (each.target_id, each.origin) not in seen:
            seen.add((each.target_id, each.origin))
            yield each
