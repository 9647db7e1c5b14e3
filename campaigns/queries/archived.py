"""What is archived of what a campaign would need to run, in a sentence."""

from collections.abc import Iterable

from campaigns.models import Campaign, Endpoint, SavedPlan, Test


def why_archived(campaign: Campaign, tests: Iterable[Test]) -> str:
    """The first that is archived of what its runs would need, in a sentence; "" if all is there."""
    if campaign.archived_at:
        return "This campaign is archived. Restore it first."
    missing = (archived_part(test.plan_version.plan, test.endpoint) for test in tests)
    return next(filter(None, missing), "")


def archived_part(plan: SavedPlan, endpoint: Endpoint) -> str:
    """As of `why_archived`."""
    target = endpoint.target
    if plan.archived_at:
        return f"The plan {plan.name} is archived. Restore it first."
    if target.archived_at:
        return f"The target {target.name} is archived. Restore it first."
    if endpoint.archived_at:
        return f"The endpoint {endpoint} is archived. Add it to {target.name} again first."
    return ""
