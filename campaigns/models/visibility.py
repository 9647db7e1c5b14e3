"""The manager of every table that belongs to a project: reads start from `visible_to(actor)`."""

from django.db import models

from campaigns.permissions import Actor, visible


class ProjectQuerySet(models.QuerySet):
    """`project_path` on the model leads to its project; "" on the project itself."""

    def visible_to(self, actor: Actor):
        return self.filter(visible(actor, self.model.project_path))


class SharedQuerySet(ProjectQuerySet):
    """Of what a share link can show: its visitor sees the linked row and what `shared` adds."""

    def visible_to(self, actor: Actor):
        if actor.share is not None:
            return self.filter(self.model.shared(actor.share))
        return super().visible_to(actor)
