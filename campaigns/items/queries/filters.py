"""The filters of lists, one set for each, for its page and for REST. Both refuse or ignore by
themselves what has no value here; the rows that they are given are those that the actor may see."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any

import django_filters
from django import forms
from django.db.models import Exists, F, Func, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Lower
from drf_spectacular.utils import extend_schema_field

from campaigns.campaigns.queries.campaign_list import (
    STATE_IS,
    needs_a_look,
    on_target,
    precision_is,
    target_state_is,
    trust_is,
)
from campaigns.core.pages import sorted_by
from campaigns.core.permissions import Actor
from campaigns.domain.lifecycle import Outcome, Precision, RunState, TargetState, Trust
from campaigns.domain.typed_text import clean_tag, composed
from campaigns.models import AuditEntry, Campaign, Endpoint, Project, SavedPlan, Target, Test
from campaigns.operations.models import AuditEvent
from campaigns.projects.models import Item

LARGEST_ID = 2**63 - 1


class WholeFilter(django_filters.NumberFilter):
    """A whole number with its bounds."""

    field_class = forms.IntegerField

    def __init__(self, *args: Any, min_value: int, max_value: int, **options: Any):
        super().__init__(*args, min_value=min_value, max_value=max_value, **options)
        bounds = {"minimum": min_value, "maximum": max_value}
        extend_schema_field({"type": "integer", **bounds})(self)


class IdFilter(WholeFilter):
    """The number of a row."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, min_value=1, max_value=LARGEST_ID, **options)


class _Instant(django_filters.fields.IsoDateTimeField):
    def to_python(self, value: str) -> datetime | None:
        """In UTC: PostgreSQL refuses offsets that Python accepts, such as +23:59."""
        instant = super().to_python(value)
        try:
            return instant and instant.astimezone(UTC)
        except OverflowError:
            raise forms.ValidationError(self.error_messages["invalid"]) from None


class InstantFilter(django_filters.IsoDateTimeFilter):
    """A date with a time; what no calendar has is refused."""

    field_class = _Instant


class ManyFilter(django_filters.MultipleChoiceFilter):
    """Rows with any of the words. They have one each, so that none is twice in what a join finds:
    DISTINCT would sort the whole list."""

    def __init__(self, *args: Any, choices: Sequence[str], **options: Any):
        pairs = [(str(each), str(each)) for each in choices]
        super().__init__(*args, choices=pairs, distinct=False, **options)


def _by(condition: Callable[[Any], Q]) -> Callable[[QuerySet, str, Any], QuerySet]:
    """A filter's method: rows of which the condition for its value holds."""
    return lambda rows, _, value: rows.filter(condition(value))


def one_of(words: Sequence[str], **options: Any) -> django_filters.ChoiceFilter:
    return django_filters.ChoiceFilter(
        choices=[(str(each), str(each)) for each in words], **options
    )


class ListFilterSet(django_filters.FilterSet):
    def __init__(self, *args: Any, actor: Actor, **options: Any):
        super().__init__(*args, **options)
        self.actor = actor


# --- campaigns, plans, targets, projects ---------------------------------------------------------

# What a list can be sorted by; a key is a column of its page and of the API.
SORTS: Mapping[type[Item], dict[str, object]] = {
    Campaign: {
        "active": F("active_at"),
        "id": F("pk"),
        "name": Lower("name"),
        "tests": F("n_tests"),
        "runs": F("n_runs"),
        "started": F("started_at"),
        "duration": F("finished_at") - F("started_at"),
        "by": Lower("created_by__username"),
    },
    SavedPlan: {"name": Lower("name"), "changed": F("changed_at")},
    Target: {"name": Lower("name"), "runs": F("n_runs"), "created": F("created_at")},
    Project: {
        "name": Lower("name"),
        "members": F("n_members"),
        "targets": F("n_targets"),
        "campaigns": F("n_campaigns"),
        "latest": F("latest_campaign_at"),
    },
}


def ordered(rows: QuerySet, sort: str) -> QuerySet:
    """By a key of SORTS, "-" before it turns it round."""
    sorts = SORTS[rows.model]
    return sorted_by(rows, sorts[sort.removeprefix("-")], falls=sort.startswith("-"))


def ordering_of(model: type[Item]) -> django_filters.ChoiceFilter:
    keys = [sign + key for key in SORTS[model] for sign in ("", "-")]
    return one_of(keys, method=lambda rows, _, value: ordered(rows, value))


class ItemFilterSet(ListFilterSet):
    archived = django_filters.BooleanFilter("archived_at", lookup_expr="isnull", exclude=True)
    tag = django_filters.CharFilter(
        method=_by(lambda tag: Q(tags__contains=[clean_tag(tag)])),
        help_text="Only those with this tag.",
    )
    search = django_filters.CharFilter(
        method="that_match", help_text="Part of a name, a tag, or of what belongs to the item."
    )

    def that_match(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(matching(rows.model, value))

    trash = django_filters.BooleanFilter(
        method=lambda rows, *_: rows, help_text="Those in the trash, which no other list has."
    )


class OfProjectFilterSet(ItemFilterSet):
    project = IdFilter()


class ProjectFilterSet(ItemFilterSet):
    ordering = ordering_of(Project)


class PlanFilterSet(OfProjectFilterSet):
    ordering = ordering_of(SavedPlan)


class TargetFilterSet(OfProjectFilterSet):
    ordering = ordering_of(Target)


class CampaignFilterSet(OfProjectFilterSet):
    target = IdFilter(method=_by(on_target), help_text="Those with a test of this target.")
    state = one_of(STATE_IS, method=_by(STATE_IS.get))
    measurement = one_of(Trust, method=_by(trust_is))
    target_state = one_of(TargetState, method=_by(target_state_is))
    precision = one_of(Precision, method=_by(precision_is))
    needs_a_look = django_filters.BooleanFilter(
        method="that_need_a_look",
        help_text="Finished, not healthy, and nobody has reviewed it since.",
    )
    by = django_filters.CharFilter(method="made_by", help_text="Who created it, a username.")
    since = InstantFilter("active_at", "gte", help_text="Created, started or ended since then.")
    ordering = ordering_of(Campaign)

    def that_need_a_look(self, rows: QuerySet, name: str, value: bool) -> QuerySet:
        condition = needs_a_look(self.actor)
        return rows.filter(condition if value else ~condition)

    def made_by(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        """Addresses of earlier releases have the number of the user."""
        is_number = value.isdecimal() and len(value) < 19
        condition = Q(created_by__username=value)
        return rows.filter(condition | Q(created_by=int(value)) if is_number else condition)


def matching(kind: type[Item], text: str) -> Q:
    """Items whose name, tags or parts contain the text; "#12" is an item's number. Campaigns also
    by the beginning of a commit."""
    text = composed(text)
    tags = Func(F("tags"), Value(", "), function="array_to_string", output_field=TextField())
    condition = Q(name__icontains=text) | Q(
        pk__in=kind.objects.annotate(tag_text=tags).filter(tag_text__icontains=text).values("pk")
    )
    number = text.removeprefix("#")
    if number.isdecimal() and len(number) < 10:
        condition |= Q(pk=int(number))
    if kind is Campaign:
        tests = Test.objects.filter(
            Q(endpoint__target__name__icontains=text) | Q(plan_version__plan__name__icontains=text)
        )
        condition |= Exists(tests.filter(campaign=OuterRef("pk")))
        condition |= Q(commit__istartswith=text) | Q(branch__icontains=text)
    if kind is Target:
        endpoints = Endpoint.objects.filter(host__icontains=text, archived_at=None)
        condition |= Exists(endpoints.filter(target=OuterRef("pk")))
    return condition


# --- runs and the audit log ----------------------------------------------------------------------

# Beside its states: how it ended, and all that have not.
RUN_IS = {
    "going": ~Q(state=RunState.DONE),
    **{str(each): Q(state=each) for each in RunState},
    **{str(each): Q(outcome=each) for each in Outcome},
}


class RunFilterSet(ListFilterSet):
    project = IdFilter("campaign__project")
    campaign = IdFilter()
    test = IdFilter()
    target = IdFilter()
    plan = IdFilter("test__plan_version__plan")
    state = ManyFilter(
        choices=RUN_IS, method=_by(lambda words: reduce(or_, (RUN_IS[each] for each in words)))
    )
    outcome = ManyFilter(choices=Outcome)
    measurement = ManyFilter("trust", choices=Trust)
    target_state = ManyFilter(choices=TargetState)
    precision = ManyFilter(choices=Precision)
    since = InstantFilter("t0", lookup_expr="gte")
    until = InstantFilter("t0", lookup_expr="lt")


class AuditFilterSet(ListFilterSet):
    who = django_filters.CharFilter("who", "iexact")
    deed = one_of(AuditEvent)
    search = django_filters.CharFilter("what", "icontains")
    since = InstantFilter("at", "gte")
    until = InstantFilter("at", "lt")

    class Meta:
        model = AuditEntry
        fields: Sequence[str] = ()
