"""What a file would change in a project, and the change. Both are the same transaction: a preview
is not stored. An item of the file is the project's of the same name; what is alike stays untouched.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2s
from itertools import product
from typing import Annotated, Any, NamedTuple, Self

from django.db import transaction
from django.utils import timezone

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, edit_draft
from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import InvalidFields, InvalidPlan, Refused
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.timetable import daily_cron
from campaigns.domain.units import and_joined
from campaigns.items.services import archive_items, delete_items, describe_item
from campaigns.manifest.content import SECTIONS, Content
from campaigns.manifest.schema import read_manifest, with_lines
from campaigns.models import Campaign, Project
from campaigns.operations.models import AuditEvent
from campaigns.plans.services import create_plan, edit_plan
from campaigns.schedules.services import create_schedule, delete_schedule, edit_schedule
from campaigns.targets.services import (
    change_profile,
    create_profile,
    create_target,
    delete_profile,
    edit_target,
)


class ManifestField(NamedTuple):
    """`field` is a path, such as spec.load.rate_per_s."""

    field: str
    before: Annotated[Any, "Null where there is none; shortened."]
    after: Any


@dataclass(frozen=True, slots=True)
class ManifestChange:
    kind: Annotated[str, "target, plan, campaign, schedule or tls profile."]
    name: str
    action: Annotated[str, "create, change, keep, archive or delete."]
    fields: Sequence[ManifestField] = ()
    note: str = ""

    @property
    def lines(self) -> Iterator[str]:
        yield f"{self.action.capitalize()} {self.kind} {self.name}"
        for name, before, after in self.fields:
            if name == "name":
                continue
            texts = [json.dumps(each, ensure_ascii=False) for each in (before, after)]
            yield f"    {name}: {texts[1] if before is None else ' → '.join(texts)}"
        if self.note:
            yield f"    {self.note}"


@dataclass(frozen=True, slots=True)
class ManifestChanges:
    sentence: Annotated[str, "2 created, 1 changed; empty without any change."]
    version: Annotated[str, "Names these changes; others have another one."]
    changes: Sequence[ManifestChange]

    @classmethod
    def of(cls, changes: Sequence[ManifestChange]) -> Self:
        real = [each for each in changes if each.action != "keep"]
        counts = Counter(each.action for each in real)
        text = json.dumps([(each.kind, each.name, each.action, each.fields) for each in real])
        return cls(
            ", ".join(f"{counts[key]} {word}" for key, word in _DONE.items() if counts[key]),
            blake2s(text.encode(), digest_size=16).hexdigest(),
            [
                replace(
                    each,
                    fields=[ManifestField(of, *map(_short, values)) for of, *values in each.fields],
                )
                for each in changes
            ],
        )

    @property
    def text(self) -> str:
        """What people read before they agree."""
        lines = [line for each in self.changes if each.action != "keep" for line in each.lines]
        return "\n".join(lines) or "The project is as the file says."


_DONE = {"create": "created", "change": "changed", "archive": "archived", "delete": "deleted"}
_MOST_SHOWN = 300


def _short(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


@transaction.atomic
def apply_manifest(
    *,
    by: Actor,
    project: Project,
    text: str,
    prune: bool = False,
    version: str | None = None,
    dry_run: bool = False,
) -> ManifestChanges:
    """Make the project have what the file says, all of it or nothing. `prune`: also remove what
    its sections do not name. `version`: that of the changes that somebody has seen. Raises
    Forbidden, Refused where these are others by now, and InvalidFields with lines."""
    require(by, Action.EDIT, project)
    document, data = read_manifest(text)
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # one file at a time
    work = _Work(by, project)
    for section in SECTIONS:
        # What these name is wrong itself.
        if section in {"campaigns", "schedules"} and work.errors:
            break
        work.apply(section, data.get(section, ()))
    for section in reversed(SECTIONS if prune and not work.errors else ()):
        if section in data:
            work.prune(section, {row["name"] for row in data[section]})
    if work.errors:
        raise with_lines(document, work.errors)
    changes = ManifestChanges.of(work.changes)
    if version is not None and version != changes.version:
        raise Refused("The file or the project has changed since the preview. Preview it again.")
    if dry_run:
        transaction.set_rollback(True)
    elif changes.sentence:
        audit.note(by, AuditEvent.FILE_APPLIED, changes.sentence, project=project)
    return changes


@dataclass
class _Work:
    by: Actor
    project: Project
    changes: list[ManifestChange] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)  # of the file, by name

    def apply(self, section: str, items: Sequence[Mapping[str, Any]]) -> None:
        names = [each["name"] for each in items]
        rows = SECTIONS[section](self.project).rows.filter(name__in=names)
        by_name: dict[str, Any] = {}
        for row in rows.select_for_update(of=("self",), no_key=True):
            by_name.setdefault(row.name, row)
        for index, values in enumerate(items):
            with self._errors_of(f"{section}.{index}", is_plan=section == "plans"):
                self.changes.append(
                    self._apply_one(section, dict(values), by_name.get(values["name"]))
                )

    def _apply_one(self, section: str, values: dict[str, Any], row: Any) -> ManifestChange:
        kind, name, tags = _noun(section), values["name"], values.pop("tags", None)
        with transaction.atomic():
            before = self._content(section, row)
            match section:
                case "campaigns":
                    values["cells"] = _cells(self.project, values["cells"])
                    if row and row.started_at is None:
                        item = edit_draft(by=self.by, campaign=row, seed=row.seed, **values)
                    else:
                        item = create_campaign(by=self.by, project=self.project, **values)
                case "schedules":
                    copy_of = values.pop("campaign")
                    rows = SECTIONS["campaigns"](self.project).rows.filter(name=copy_of)
                    template = self.campaigns.get(copy_of) or rows.first()
                    if template is None:
                        text = f"Neither the project nor the file has a campaign {copy_of}."
                        raise InvalidFields({"campaign": text})
                    if "every" in values:
                        hour, minute = values.pop("at").split(":")
                        values["cron"] = daily_cron(values.pop("every"), int(hour), int(minute))
                    values |= {"template": template, "by": self.by, "now": timezone.now()}
                    if row:
                        item = edit_schedule(schedule=row, **values)
                    else:
                        item = create_schedule(project=self.project, **values)
                case _:
                    noun, create, edit = _SERVICES[section]
                    try:
                        if row:
                            item = edit(by=self.by, **{noun: row}, **values)
                        else:
                            item = create(by=self.by, project=self.project, **values)
                    except InvalidFields as invalid:
                        keys = (path for path in invalid.errors if path.endswith("_key_pem"))
                        invalid.errors |= dict.fromkeys(keys, _NO_KEY)
                        raise
                    item = item.plan if section == "plans" else item
            if tags is not None:
                describe_item(by=self.by, item=item, tags=tags)
            after = self._content(section, item)
            if before == after:  # a save would make its saver a schedule's owner, among others
                transaction.set_rollback(True)
                item = row
        if section == "campaigns":
            self.campaigns[name] = item
        if before == after:
            return ManifestChange(kind, name, "keep")
        action, note = "change" if row else "create", ""
        if row and item.pk != row.pk:
            note = f"Campaign {row.pk} has been started and stays. A new draft has the change."
        return ManifestChange(kind, name, action, list(_differences(before, after)), note)

    def _content(self, section: str, row: Any) -> Content:
        if row is None:
            return {}
        rows, content_of = SECTIONS[section](self.project)
        try:
            return content_of(rows.get(pk=row.pk))
        except ValueError:  # what a file can't say
            return {"_is": "another"}

    def prune(self, section: str, names: set[str]) -> None:
        rows = SECTIONS[section](self.project).rows.exclude(name__in=names)
        if section == "campaigns":
            rows = rows.filter(started_at=None)
        for row in rows.select_for_update(of=("self",), no_key=True):
            with self._errors_of(section):
                action = self._remove(section, row)
                self.changes.append(ManifestChange(_noun(section), row.name, action))

    def _remove(self, section: str, row: Any) -> str:
        if section == "tls_profiles":
            delete_profile(by=self.by, profile=row)
        elif section == "schedules":
            delete_schedule(by=self.by, schedule=row)
        else:
            try:
                delete_items(by=self.by, items=[row])
            except Refused:  # something was measured with it
                archive_items(by=self.by, items=[row])
                return "archive"
        return "delete"

    @contextmanager
    def _errors_of(self, path: str, *, is_plan: bool = False) -> Iterator[None]:
        try:
            with transaction.atomic():
                yield
        except InvalidFields as invalid:
            within = f"{path}.spec" if is_plan and isinstance(invalid, InvalidPlan) else path
            for name, sentence in invalid.errors.items():
                at = path if name == "name" else within
                self.errors[f"{at}.{name}"] = sentence
        except Refused as refusal:
            self.errors[path] = str(refusal)


def _noun(section: str) -> str:
    return section.removesuffix("s").replace("_", " ")


def _differences(before: Any, after: Any, path: str = "") -> Iterator[ManifestField]:
    """Of two values of JSON, by path: objects field by field, lists of objects one by one."""
    if before == after:
        return
    old, new = _parts(before), _parts(after)
    if old is None or new is None or not (old or new):
        yield ManifestField(path.replace("._", ".").removeprefix("_"), before, after)
        return
    for name in dict.fromkeys([*new, *old]):
        within = f"{path}.{name}" if path else name
        yield from _differences(old.get(name), new.get(name), within)


def _parts(value: Any) -> dict[str, Any] | None:
    """None of what is one value."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return {str(index): each for index, each in enumerate(value)}
    return {} if value is None else None


_SERVICES: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "tls_profiles": ("profile", create_profile, change_profile),
    "targets": ("target", create_target, edit_target),
    "plans": ("plan", create_plan, edit_plan),
}
_NO_KEY = (
    "A file has no keys. Leave the certificate out, apply the file, then add both on the target's "
    "page."
)


def _cells(project: Project, rows_of_file: Sequence[Mapping[str, Any]]) -> list[CampaignCell]:
    plans = {each.name: each for each in project.plans.filter(archived_at=None)}
    targets = {each.name: each for each in project.targets.filter(archived_at=None, is_kept=True)}
    errors: dict[str, str] = {}
    cells = []
    for index, row in enumerate(rows_of_file):
        for plan_name, target_name in product(row["plan"], row["target"]):
            plan, target = plans.get(plan_name), targets.get(target_name)
            if plan is None or target is None:
                what, name = ("plan", plan_name) if plan is None else ("target", target_name)
                text = f"Neither the project nor the file has a {what} {name}."
                errors[f"cells.{index}.{what}"] = text
                continue
            endpoints = list(target.endpoints.filter(archived_at=None).select_related("target"))
            version, name = plan.latest, row.get("endpoint")
            modes = row.get("connection_mode") or [version.value().connection_mode]
            matches = [each for each in endpoints if not name or name in (str(each), each.scheme)]
            unknown = [mode for mode in modes if mode not in list(ConnectionMode)]
            if len(matches) != 1:
                names = and_joined(list(map(str, endpoints)))
                errors[f"cells.{index}.endpoint"] = f"Name one endpoint of {target.name}: {names}."
            elif unknown:
                text = f"{unknown[0]} is none of {', '.join(ConnectionMode)}."
                errors[f"cells.{index}.connection_mode"] = text
            else:
                modes = map(ConnectionMode, modes)
                cells += [CampaignCell(version, matches[0], mode) for mode in modes]
    if errors:
        raise InvalidFields(errors)
    return cells
