"""What, where and how: the pickers of forms that start a measurement. Messages say what to
choose."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from django import forms
from django.utils.timesince import timesince

from campaigns.campaigns.queries.campaign_grid import Grid, Picks, endpoints_to_propose
from campaigns.core.forms import CheckedForm
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.units import and_joined
from campaigns.models import Endpoint, Target

_MODES = {
    ConnectionMode.NEW: "New for each request",
    ConnectionMode.RESUMED: "Resumed TLS sessions",
    ConnectionMode.KEEP_ALIVE: "Keep-alive",
}


class PicksField(forms.MultipleChoiceField):
    """Keys of rows: too many to be listed as choices."""

    _GONE = "What you chose has been archived. Choose again."

    def __init__(self, *, is_strict: bool = False, **more: Any):
        super().__init__(required=False, **more)
        self.keys: Collection[str] = ()
        self._is_strict = is_strict

    def known(self, values: Iterable[str]) -> list[str]:
        return [each for each in dict.fromkeys(values) if each in self.keys]

    def clean(self, value: Any) -> list[str]:
        picks = self.known(value or ())
        if self._is_strict and len(picks) < len(set(value or ())):
            raise forms.ValidationError(self._GONE)
        return picks


class Option(NamedTuple):
    """A row or chip of a picker. `why_not`: it cannot be used."""

    key: str
    name: str
    words: str
    is_on: bool
    why_not: str = ""


class Picker(NamedTuple):
    """A list to choose one from, or several where `is_several`."""

    field: str
    noun: str
    options: Sequence[Option]
    errors: Sequence[str]
    is_several: bool
    is_open: bool

    @property
    def chosen(self) -> list[Option]:
        return [each for each in self.options if each.is_on]


class PickerFields(CheckedForm):
    """Takes a `grid`. `offered`: the targets whose endpoints the page had. `is_single`: one plan on
    one endpoint in one mode, else all combinations of what is chosen. `has_modes`: whether the kind
    of connection is chosen."""

    refused_at = "plans"
    is_single: ClassVar[bool] = False
    has_modes: ClassVar[bool] = True

    question = forms.CharField(required=False, max_length=10, widget=forms.HiddenInput)
    plans = PicksField(is_strict=True)
    targets = PicksField(is_strict=True)
    endpoints = PicksField(is_strict=True)
    modes = PicksField(label="Connections")
    offered = PicksField()

    def __init__(self, *args, grid: Grid, **kwargs):
        super().__init__(*args, **kwargs)
        self.grid = grid
        targets = {str(each.pk) for each in grid.targets}
        self.fields["plans"].keys = {str(row.version.pk) for row in grid.plans}
        self.fields["targets"].keys = self.fields["offered"].keys = targets
        self.fields["endpoints"].keys = {str(arm.endpoint.pk) for arm in grid.arms}
        self.fields["modes"].keys = set(map(str, ConnectionMode))

    def check_picks(self, keys: Sequence[str]) -> None:
        """Says of the first picker that has nothing what is missing."""
        picks = self.picks
        if not picks.plans:
            self.add_error("plans", "Choose a plan.")
        elif not picks.targets:
            self.add_error("targets", "Choose a target.")
        elif not picks.endpoints:
            self.add_error("endpoints", "Choose at least one endpoint.")
        elif not self.has_modes:
            return
        elif not picks.modes:
            self.add_error("modes", "Choose at least one kind of connection.")
        elif not keys:
            self.add_error("endpoints", "No chosen plan can use these endpoints and connections.")

    @cached_property
    def picks(self) -> Picks:
        """What is chosen. A target that was chosen just now comes with the endpoints that fit."""
        if not self.is_bound:
            return Picks(*(self.initial.get(name, ()) for name in Picks._fields))
        lists = (
            self.fields[name].known(self.data.getlist(name)) if name in self.fields else []
            for name in Picks._fields
        )
        values = Picks(*([each[:1] for each in lists] if self.is_single else lists))
        rows = [row for row in self.grid.plans if str(row.version.pk) in values.plans]
        choices, endpoints = self.data.getlist("offered"), []
        for target in self._chosen_targets(values):
            here = self.grid.endpoints_of(target)
            own = [each for each in here if str(each.pk) in values.endpoints]
            if not own and str(target.pk) not in choices:
                question = self.data.get("question", "")
                own = endpoints_to_propose(self.grid, target, rows, question)
            endpoints += [str(each.pk) for each in own]
        return values._replace(endpoints=endpoints[:1] if self.is_single else endpoints)

    def _chosen_targets(self, picks: Picks) -> list[Target]:
        return [each for each in self.grid.targets if str(each.pk) in picks.targets]

    @cached_property
    def combinations(self) -> list[str]:
        """The keys of all tests that the pickers make, those that are left out too."""
        return self.grid.cells.combined(self.picks)

    @property
    def plan_picker(self) -> Picker:
        picks, rows = self.picks.plans, self.grid.recent_plans
        names = Counter(row.version.plan.name for row in rows)
        labels = (
            (str(v.pk), str(v) if names[v.plan.name] > 1 else v.plan.name, row)
            for row in rows
            for v in (row.version,)
        )
        return self._picker(
            "plans", (Option(key, name, row.words, key in picks) for key, name, row in labels)
        )

    @property
    def target_picker(self) -> Picker:
        picks, measured_at = self.picks.targets, self.grid.measured_at

        def words(target: Target) -> str:
            hosts = dict.fromkeys(each.host for each in self.grid.endpoints_of(target))
            at = measured_at.get(target.pk)
            when = [f"last measured {timesince(at, depth=1)} ago"] if at else []
            return " · ".join([", ".join(hosts), *when])

        rows = self.grid.recent_targets
        return self._picker(
            "targets", (Option(str(e.pk), e.name, words(e), str(e.pk) in picks) for e in rows)
        )

    def _picker(self, field: str, options: Iterable[Option]) -> Picker:
        """`pick` is the button *Add another*; the question of the faster one needs two targets."""
        pick = self.data.get("pick") if self.is_bound else None
        is_asked = field == "targets" and self["question"].value() == "faster"
        is_several = pick == field or is_asked or len(getattr(self.picks, field)) > 1
        is_several = is_several and not self.is_single
        errors = self.errors.get(field, ())
        return Picker(field, field[:-1], list(options), errors, is_several, pick == field)

    @property
    def endpoint_rows(self) -> list[tuple[Target, list[Option]]]:
        """The endpoints of each chosen target."""
        picks = self.picks
        rows = [row for row in self.grid.plans if str(row.version.pk) in picks.plans]
        names = and_joined([f"“{row.version.plan.name}”" for row in rows]) if rows else ""
        nouns = "messages" if all(row.is_websocket for row in rows) else "HTTP requests"

        def option(each: Endpoint, is_spread: bool) -> Option:
            speaks = each.scheme in WEBSOCKET_SCHEMES
            fits = not rows or any(row.is_websocket == speaks for row in rows)
            scheme = each.scheme.upper()
            what = f"{names} sends {nouns}" if len(rows) == 1 else f"{names} send {nouns}"
            why = "" if fits else f"{scheme} isn't available: {what}."
            is_on = fits and str(each.pk) in picks.endpoints
            profile = f" {each.tls_profile}" if each.tls_profile else ""
            words = f"{each.host if is_spread else ''}:{each.port}{profile}"
            return Option(str(each.pk), each.scheme, words, is_on, why)

        options = []
        for target in self._chosen_targets(picks):
            here = self.grid.endpoints_of(target)
            is_spread = len({each.host for each in here}) > 1  # a port tells them apart no longer
            options.append((target, [option(each, is_spread) for each in here]))
        return options

    @property
    def mode_options(self) -> list[Option]:
        picks = self.picks
        there = {arm.mode for arm in self.grid.arms if str(arm.endpoint.pk) in picks.endpoints}
        needs = {
            ConnectionMode.RESUMED: "Resumed TLS sessions need an HTTPS or WSS endpoint.",
            ConnectionMode.KEEP_ALIVE: "Keep-alive needs an HTTP or HTTPS endpoint.",
        }
        return [
            Option(
                str(mode),
                words,
                "",
                mode in picks.modes,
                needs.get(mode, "") if picks.endpoints and mode not in there else "",
            )
            for mode, words in _MODES.items()
        ]
