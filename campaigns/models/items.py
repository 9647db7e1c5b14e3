"""An item is what people keep in a list: a campaign, a plan, a target or a project."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from campaigns.domain.tags import LONGEST_TAG
from campaigns.permissions import Action, WithMembers


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
