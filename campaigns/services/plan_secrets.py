"""The secrets of plans' credentials: written by editors, read only by launchers. A secret is sent
only to its origins. Who entered it adds one by being the first to use it there; others would read
it by measuring a server of their own, so they have to enter it again."""

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.plan.session import AuthKind
from campaigns.models import Endpoint, PlanSecret, PlanVersion, Run, SavedPlan
from campaigns.permissions import Action, Actor, require
from campaigns.services import audit
from campaigns.services.vault import decrypt, encrypt, encrypt_anew, secret_of

MAX_SECRET_LENGTH = 4096


def keep_secret(*, by: Actor, plan: SavedPlan, secret: str | None) -> None:
    """Store the secret encrypted; "" removes it, None keeps it. Raises InvalidFields."""
    require(by, Action.EDIT, plan.project)
    if secret is None:
        return
    if not secret:
        if PlanSecret.objects.filter(plan=plan).delete()[0]:
            audit.note(by, AuditEvent.SECRET_DELETED, _label(plan), project=plan.project)
        return
    # The message must not contain the secret: it is shown and logged.
    if len(secret) > MAX_SECRET_LENGTH:
        raise InvalidFields({"secret": f"Use at most {MAX_SECRET_LENGTH:,} characters."})
    if any(ch < " " or ch == "\x7f" for ch in secret):
        raise InvalidFields({"secret": "Remove line breaks and other control characters."})
    values = {"ciphertext": encrypt(secret), "changed_by": by.user}
    stored = PlanSecret.objects.select_for_update().filter(plan=plan).first()
    if stored is not None and not _are_still_its_origins(stored, by, secret):
        values["origins"] = []
    PlanSecret.objects.update_or_create(plan=plan, defaults=values)
    audit.note(by, AuditEvent.SECRET_STORED, _label(plan), project=plan.project)


def _are_still_its_origins(stored: PlanSecret, by: Actor, secret: str) -> bool:
    """Origins that somebody else chose for another secret may be theirs."""
    if stored.changed_by_id == by.user.pk:
        return True
    try:
        return decrypt(stored.ciphertext) == secret
    except Refused:
        return False


def _label(plan: SavedPlan) -> str:
    return f"plan {plan.pk}: {plan.name}"


def order_secrets(*, run_id: int) -> dict[str, dict[str, str]]:
    """The secrets that a launcher adds to a shard's order; {} if there are none. Raises Refused if
    no key decrypts a stored secret."""
    run = Run.objects.select_related("test__endpoint").get(pk=run_id)
    secrets = {**_credentials(run), **secret_of(run.test.endpoint)}
    return {"secrets": secrets} if secrets else {}


def _credentials(run: Run) -> dict[str, str]:
    if run.frozen.plan.auth.kind == AuthKind.NONE:
        return {}
    stored = PlanSecret.objects.filter(plan__versions__tests__runs=run.pk)
    return _for_origin(stored, str(run.frozen.endpoint))


def secret_of_plan(plan: int | None, endpoint: Endpoint) -> dict[str, str]:
    """A plan's secret in the form of an order's `secrets`; {} if it has none. Raises Refused if it
    may not be sent to this endpoint, or no key decrypts it."""
    return _for_origin(PlanSecret.objects.filter(plan=plan), endpoint.origin) if plan else {}


def _for_origin(secrets, origin: str) -> dict[str, str]:
    stored = secrets.select_related("plan").first()
    if stored is None:
        return {}
    if origin not in stored.origins:
        raise Refused(_not_for(stored, origin))
    return {"auth": decrypt(stored.ciphertext)}


def _not_for(stored: PlanSecret, origin: str) -> str:
    return (
        f"The secret of {stored.plan} was not entered for {origin}. To send it there, edit the "
        "plan and enter it again, or let the person who entered it send the first request."
    )


def share_secret(*, by: Actor, source: int, plan: SavedPlan) -> None:
    """Give a plan the stored secret of another plan of its project."""
    require(by, Action.EDIT, plan.project)
    stored = PlanSecret.objects.filter(plan=source, plan__project=plan.project_id).first()
    if stored is not None:
        # Still as entered by whoever entered it, for the same origins.
        copied = ("ciphertext", "changed_by", "origins")
        values = {name: getattr(stored, name) for name in copied}
        PlanSecret.objects.update_or_create(plan=plan, defaults=values)
        audit.note(by, AuditEvent.SECRET_STORED, _label(plan), project=plan.project)


def require_secret(*, by: Actor, version: PlanVersion, endpoint: Endpoint) -> None:
    """Raises Refused if the plan sends credentials but has no stored secret for this endpoint."""
    if version.value().auth.kind == AuthKind.NONE:
        return
    if not PlanSecret.objects.filter(plan=version.plan_id).exists():
        raise Refused(
            f"{version.plan} sends credentials but has no secret. Edit the plan and enter it."
        )
    name_origin(by=by, version=version, endpoint=endpoint)


def name_origin(*, by: Actor, version: PlanVersion, endpoint: Endpoint) -> None:
    """Let the plan's secret, if it has one, be sent to this endpoint's origin. Raises Refused
    unless it may be already, or `by` is who entered it."""
    secrets = PlanSecret.objects.select_for_update(of=("self",)).select_related("plan__project")
    stored = secrets.filter(plan=version.plan_id).first()
    if stored is None or endpoint.origin in stored.origins:
        return
    if stored.changed_by_id != by.user.pk:
        raise Refused(_not_for(stored, endpoint.origin))
    PlanSecret.objects.filter(pk=stored.pk).update(origins=[*stored.origins, endpoint.origin])
    label = f"{_label(stored.plan)}, {endpoint.origin}"
    audit.note(by, AuditEvent.SECRET_BOUND, label, project=stored.plan.project)


def rotate_secrets() -> int:
    """Re-encrypt every stored secret under the first key; returns their number."""
    stored = list(PlanSecret.objects.all())
    for each in stored:
        # update() leaves changed_at alone: it records changes by people.
        PlanSecret.objects.filter(pk=each.pk, ciphertext=each.ciphertext).update(
            ciphertext=encrypt_anew(each.ciphertext)
        )
    return len(stored)
