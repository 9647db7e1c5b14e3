"""A project is a team's workspace; each member has a role. Which rows an actor sees; and items,
which people keep in a list: campaigns, plans, targets, projects."""

from datetime import datetime, timedelta
from functools import cache

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from campaigns.core.permissions import Action, Actor, Role, WithMembers, viewers_path, visible
from campaigns.domain.typed_text import LONGEST_TAG


@cache
def _not_in_trash(model: type[models.Model], *, whole: bool = True) -> models.Q:
    """Neither the row itself nor a campaign, plan, target or project that it belongs to: by its
    `project_path`, and by what it has `beside`. Unless `whole`, the row itself may be."""
    names = model.project_path.split("__")
    paths = ["__".join(names[:n]) for n in range(len(names) + 1)]
    condition = models.Q()
    for path in (*paths, *getattr(model, "beside", ())):
        if (path or whole) and "deleted_at" in _fields_at(model, path):
            condition &= models.Q(**{f"{path}__deleted_at".removeprefix("__"): None})
    return condition


def _fields_at(model: type[models.Model], path: str) -> set[str]:
    for name in filter(None, path.split("__")):
        model = model._meta.get_field(name).related_model
    return {field.name for field in model._meta.get_fields()}


class ProjectQuerySet(models.QuerySet):
    """The model's `project_path` is the lookup of its project; "" on Project itself."""

    def visible_to(self, actor: Actor):
        return self.filter(visible(actor, self.model.project_path), _not_in_trash(self.model))

    def outside_trash(self):
        """For the engine, and beside rows that the actor sees."""
        return self.filter(_not_in_trash(self.model))

    def in_trash(self, actor: Actor):
        condition = visible(actor, self.model.project_path)
        return self.filter(
            condition, _not_in_trash(self.model, whole=False), deleted_at__isnull=False
        )

    def viewers(self):
        """The numbers of the users who see one of these rows, by `visible_to`."""
        return self.values_list(viewers_path(self.model.project_path), flat=True)


class SharedQuerySet(ProjectQuerySet):
    """For models that a share link can show: its visitor sees the rows that `shared` selects."""

    def visible_to(self, actor: Actor):
        if actor.share is not None:
            return self.filter(self.model.shared(actor.share), _not_in_trash(self.model))
        return super().visible_to(actor)


class Item(models.Model):
    """Has a `name`, tags, and can be archived: then lists and forms leave it out. Its deletion can
    be undone for KEPT_DAYS. Until then it is in the trash, archived, and nowhere else
    (`visible_to`)."""

    KEPT_DAYS = 30
    administered_by = Action.EDIT  # the right to rename, tag, archive, restore and delete it

    tags = ArrayField(models.CharField(max_length=LONGEST_TAG), default=list, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def home(self) -> WithMembers:
        """The project whose members it belongs to."""
        return self.project

    @property
    def kept_until(self) -> datetime | None:
        return self.deleted_at and self.deleted_at + timedelta(days=self.KEPT_DAYS)


def deleted_are_archived(kind: str) -> models.CheckConstraint:
    """So what leaves out archived ones leaves these out too."""
    condition = models.Q(deleted_at=None) | models.Q(archived_at__isnull=False)
    return models.CheckConstraint(condition=condition, name=f"deleted_{kind}_is_archived")


class Project(Item):
    project_path = ""
    administered_by = Action.ADMINISTER

    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    # Caps that an administrator set, by domain.caps.Cap.name; the installation's hold for the rest.
    caps = models.JSONField(default=dict)
    admitted_at = models.DateTimeField(null=True)  # its latest run: projects take turns

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [deleted_are_archived("project")]

    def __str__(self) -> str:
        return self.name

    @property
    def home(self) -> "Project":
        return self


class Membership(models.Model):
    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=[(role, role.title()) for role in Role])

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["user__username"]
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_per_member"),
            models.CheckConstraint(
                condition=models.Q(role__in=[str(role) for role in Role]), name="known_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} as {self.role}"
