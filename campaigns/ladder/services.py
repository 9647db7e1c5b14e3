"""Start a protocol ladder: the endpoints, plans and tests of its rungs, made from one plan and one
HTTPS endpoint."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.services.campaigns import create_campaign, start_campaign
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import InvalidFields, InvalidPlan, Refused
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.rungs import RUNGS, Rung, profile_of_rung, rung_of_profile, spec_of_rung
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.typed_text import clean_name
from campaigns.models import Campaign, Endpoint, PlanVersion, Project
from campaigns.plans.services import plan_of_spec
from campaigns.projects.services import share_secret
from campaigns.targets.services import held_profiles

LEAST_RUNGS = 2


@transaction.atomic
def start_ladder(
    *,
    by: Actor,
    project: Project,
    name: str,
    version: PlanVersion,
    endpoint: Endpoint,
    rungs: Sequence[str],
    repeats: int | None = None,
    pause_s: float = 1.0,
    when_quiet: bool = False,
) -> Campaign:
    """Measure these rungs (keys of RUNGS, or of rung_of_profile for the project's own profiles) of
    the target of `endpoint`, an HTTPS one, side by side where the load allows it. `repeats`: None
    for one pass, or five blocks. `when_quiet`: as of `start_campaign`.

    What the plan sends is sent on every rung: HTTP/2 and 32 requests at a time by plans that are
    made from it, other TLS profiles by endpoints of the same origin. All rungs are measured, even
    if everything fails on one. Raises Forbidden, Refused, or
    InvalidFields by the names of these arguments.
    """
    require(by, Action.EDIT, project)
    own = held_profiles(project, filter(None, map(profile_of_rung, rungs)))
    of_profiles = (rung_of_profile(profile) for _, profile in sorted(own.items()))
    # In the order of the ladder, each once. A profile's name may come in any form of Unicode.
    rung_by_key = {**RUNGS, **{rung.key: rung for rung in of_profiles}}
    keys = [key if key in rung_by_key else clean_name(key) for key in rungs]
    if unknown := [key for key in keys if key not in rung_by_key]:
        raise InvalidFields({"rungs": f"There is no rung {unknown[0]}. Choose from {_KEYS}."})
    steps = [rung for key, rung in rung_by_key.items() if key in keys]
    if len(steps) < LEAST_RUNGS:
        raise InvalidFields({"rungs": f"Tick at least {LEAST_RUNGS} rungs."})
    plan = version.value()
    if endpoint.scheme != "https":
        raise InvalidFields({"endpoint": "Choose an HTTPS endpoint: most rungs use TLS."})
    if plan.exchange is not None:
        raise InvalidFields({"plan": "Choose a plan of HTTP requests: WebSockets have no ladder."})
    if plan.http_version != HttpVersion.HTTP_1_1:
        raise InvalidFields({"plan": "Choose a plan with HTTP/1.1: HTTP/2 is a rung of its own."})
    cells = [
        CampaignCell(
            _version_for(by, version, plan, rung), _endpoint_for(endpoint, rung), str(rung.mode)
        )
        for rung in steps
    ]
    campaign = create_campaign(
        by=by,
        project=project,
        name=name,
        cells=cells,
        repeats=repeats,
        pause_s=pause_s,
        # A rung that the server does not speak is an answer, and hides no other rung.
        keeps_going=True,
    )
    start_campaign(by=by, campaign=campaign, when_quiet=when_quiet)
    return campaign


_KEYS = f"{', '.join(RUNGS)}, and profile:NAME for a TLS profile of the project"


def _version_for(by: Actor, version: PlanVersion, plan: Plan, rung: Rung) -> PlanVersion:
    """The plan itself, or the project's plan that sends the same as this rung does."""
    spec, name = spec_of_rung(plan, rung)
    if spec == plan.to_json():
        return version
    try:
        new_version = plan_of_spec(
            by, version.plan.project, f"{version.plan.name[:60]}, {name}", spec
        )
    except InvalidPlan as invalid:
        faults = " ".join(dict.fromkeys(invalid.errors.values()))
        raise InvalidFields({"plan": f"{rung.title} cannot send it: {faults}"}) from None
    share_secret(by=by, source=version.plan_id, plan=new_version.plan)
    return new_version


def _endpoint_for(endpoint: Endpoint, rung: Rung) -> Endpoint:
    """The target's endpoint of this rung, of the same host; over TLS one of the same origin is made
    where there is none with this profile."""
    same = endpoint.target.endpoints.filter(scheme=rung.scheme).select_related("target")
    if rung.scheme != "https":
        plain = same.filter(archived_at=None).order_by("pk")
        match = plain.filter(host=endpoint.host, address=endpoint.address).first() or plain.first()
        if match is None:
            raise Refused(
                f"{endpoint.target.name} has no HTTP endpoint: add one to the target, or leave out "
                "the rungs without TLS."
            )
        return match
    if endpoint.tls.get("profile", "") == rung.profile and not endpoint.archived_at:
        return endpoint
    at = same.filter(host=endpoint.host, port=endpoint.port, address=endpoint.address)
    for endpoint_row in at.order_by("archived_at", "-pk"):
        if endpoint_row.tls.get("profile", "") == rung.profile:
            # What an archived one offered by itself would hide its profile, which may be another
            # one of that name by now.
            if endpoint_row.archived_at:
                endpoint_row.archived_at = None
                endpoint_row.tls = _tls_of(endpoint_row, endpoint_row.tls.get("profile", ""))
                endpoint_row.save(update_fields=["archived_at", "tls"])
            return endpoint_row
    # A copy that offers what the profile says: who is trusted and which certificate is shown stays
    # as it is; what an endpoint offers by itself does not, for it would hide the profile.
    return Endpoint.objects.create(
        target=endpoint.target,
        scheme=endpoint.scheme,
        host=endpoint.host,
        port=endpoint.port,
        address=endpoint.address,
        verify_tls=endpoint.verify_tls,
        tls=_tls_of(endpoint, rung.profile),
        client_key=endpoint.client_key,
    )


def _tls_of(endpoint: Endpoint, profile: str) -> dict[str, Any]:
    """Who is trusted and which certificate is shown, with another profile."""
    names = ("ca_pem", "sni", "client_certificate_pem", "fingerprint")
    tls = {name: endpoint.tls[name] for name in names if name in endpoint.tls}
    return {**tls, **({"profile": profile} if profile else {})}
