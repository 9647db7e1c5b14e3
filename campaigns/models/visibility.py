"""The manager of every table that belongs to a project: reads start from `visible_to(actor)`."""

from django.db import models

from campaigns.permissions import Actor, viewers_path, visible


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
