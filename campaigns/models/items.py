"""Which rows an actor sees; and items, which people keep in a list: campaigns, plans, targets,
projects."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from campaigns.domain.typed_text import LONGEST_TAG
from campaigns.permissions import Action, Actor, WithMembers, viewers_path, visible


class ProjectQuerySet(models.QuerySet):
    """The model's `project_path` is the lookup of its project; "" on Project itself."""

    def visible_to(self, actor: Actor):
        return self.filter(visible(actor, self.model.project_path))

    def viewers(self):
        """The numbers of the users who see one of these rows, by `visible_to`."""
        return self.values_list(viewers_path(self.model.project_path), flat=True)


class SharedQuerySet(ProjectQuerySet):
    """For models that a share link can show: its visitor sees the rows that `shared` selects."""

    def visible_to(self, actor: Actor):
        if actor.share is not None:
            return self.filter(self.model.shared(actor.share))
        return super().visible_to(actor)


class Item(models.Model):
    """Has a `name`, tags, and can be archived: then lists and forms leave it out."""

    administered_by = Action.EDIT  # the right to rename, tag, archive, restore and delete it

    tags = ArrayField(models.CharField(max_length=LONGEST_TAG), default=list, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def home(self) -> WithMembers:
        """The project whose members it belongs to."""
        return self.project
