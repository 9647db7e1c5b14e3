"""What people keep in lists: one item of any of the four kinds."""

from campaigns.models import Campaign, Project, SavedPlan, Target
from tests.factories import make_campaign, make_plan, make_project, make_target

MODELS = {"campaign": Campaign, "plan": SavedPlan, "target": Target, "project": Project}
KINDS = list(MODELS)


def make_item(kind: str, project, name: str, **fields):
    """In the project, or another project of its owner's."""
    if kind == "project":
        item = make_project(name, owner=project.memberships.get(role="owner").user)
    elif kind == "plan":
        item = make_plan(project, name).plan
    else:
        item = {"campaign": make_campaign, "target": make_target}[kind](project, name)
    MODELS[kind].objects.filter(pk=item.pk).update(**fields)
    return item
