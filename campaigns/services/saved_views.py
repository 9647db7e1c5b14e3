"""A user's own views of a project's list of campaigns: save one, delete one."""

from django.db import transaction

from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.models import Project, SavedView
from campaigns.permissions import Action, Actor, require, require_may_write

MOST_VIEWS = 20
LONGEST_NAME = SavedView._meta.get_field("name").max_length
_LONGEST_QUERY = SavedView._meta.get_field("query").max_length


@transaction.atomic
def save_view(*, by: Actor, project: Project, name: str, query: str) -> SavedView:
    """Keep the query of the list's address under a name. Raises Forbidden or Refused."""
    require(by, Action.VIEW, project)
    require_may_write(by)
    name = clean_name(name)
    if not 1 <= len(name) <= LONGEST_NAME:
        raise Refused(f"Give the view a name of 1 to {LONGEST_NAME} characters.")
    if not query:
        raise Refused("This is the whole list. Filter or sort it first, then save the view.")
    if len(query) > _LONGEST_QUERY:
        raise Refused("The search is too long to be saved. Use fewer words.")
    # The lock serialises two saves of one user, which could exceed the limit together.
    project.memberships.select_for_update().get(user=by.user)
    own = SavedView.objects.filter(user=by.user, project=project)
    if own.filter(name=name).exists():
        raise Refused(f"You already have a view named {name}. Choose another name.")
    if own.count() >= MOST_VIEWS:
        raise Refused(f"You have {MOST_VIEWS} views. Delete one before you save another.")
    return SavedView.objects.create(user=by.user, project=project, name=name, query=query)


def delete_view(*, by: Actor, view: SavedView) -> None:
    """Its campaigns are not touched. Raises Forbidden for somebody else's view."""
    if view.user_id != by.user.pk:
        raise Forbidden("Only the user who saved a view can delete it.")
    require_may_write(by)
    view.delete()
