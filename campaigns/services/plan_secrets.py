"""The secrets of plans' credentials: written by editors, read only by launchers."""

from campaigns.domain.deeds import Deed
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.plan.session import AuthKind
from campaigns.models import PlanSecret, PlanVersion, Run, SavedPlan
from campaigns.permissions import Action, Actor, require
from campaigns.services import audit
from campaigns.services.client_keys import secret_of
from campaigns.services.vault import decrypt, encrypt, encrypt_anew

MAX_SECRET_LENGTH = 4096


def keep_secret(*, by: Actor, plan: SavedPlan, secret: str | None) -> None:
    """Store the secret encrypted; "" removes it, None keeps it. Raises InvalidFields."""
    require(by, Action.EDIT, plan.project)
    if secret is None:
        return
    if not secret:
        if PlanSecret.objects.filter(plan=plan).delete()[0]:
            audit.note(by, Deed.SECRET_DELETED, _label(plan), project=plan.project)
        return
    _check(secret)
    values = {"ciphertext": encrypt(secret), "changed_by": by.user}
    PlanSecret.objects.update_or_create(plan=plan, defaults=values)
    audit.note(by, Deed.SECRET_STORED, _label(plan), project=plan.project)


def _label(plan: SavedPlan) -> str:
    return f"plan {plan.pk}: {plan.name}"


def _check(secret: str) -> None:
    # The message must not contain the secret: it is shown and logged.
    if len(secret) > MAX_SECRET_LENGTH:
        raise InvalidFields({"secret": f"Use at most {MAX_SECRET_LENGTH:,} characters."})
    if any(ch < " " or ch == "\x7f" for ch in secret):
        raise InvalidFields({"secret": "Remove line breaks and other control characters."})


def order_secrets(*, run_id: int) -> dict[str, dict[str, str]]:
    """The secrets that a launcher adds to a shard's order; {} if there are none.

    Raises Refused if no key decrypts a stored secret.
    """
    run = Run.objects.select_related("test__endpoint").get(pk=run_id)
    secrets = {**_credentials(run), **secret_of(run.test.endpoint)}
    return {"secrets": secrets} if secrets else {}


def _credentials(run: Run) -> dict[str, str]:
    if run.frozen.plan.auth.kind == AuthKind.NONE:
        return {}
    stored = PlanSecret.objects.filter(plan__versions__tests__runs=run.pk).first()
    return {"auth": decrypt(stored.ciphertext)} if stored else {}


def secret_of_plan(plan: int | None) -> dict[str, str]:
    """A plan's secret in the form of an order's `secrets`; {} if it has none."""
    stored = PlanSecret.objects.filter(plan=plan).first() if plan else None
    return {"auth": decrypt(stored.ciphertext)} if stored else {}


def share_secret(*, by: Actor, source: int, plan: SavedPlan) -> None:
    """Give a plan the stored secret of another plan of its project."""
    require(by, Action.EDIT, plan.project)
    stored = PlanSecret.objects.filter(plan=source, plan__project=plan.project_id).first()
    if stored is not None:
        values = {"ciphertext": stored.ciphertext, "changed_by": by.user}
        PlanSecret.objects.update_or_create(plan=plan, defaults=values)
        audit.note(by, Deed.SECRET_STORED, _label(plan), project=plan.project)


def require_secret(version: PlanVersion) -> None:
    """Raises Refused if the plan sends credentials but has no stored secret."""
    sends_credentials = version.value().auth.kind != AuthKind.NONE
    if sends_credentials and not PlanSecret.objects.filter(plan=version.plan_id).exists():
        raise Refused(
            f"{version.plan} sends credentials but has no secret. Edit the plan and enter it."
        )


def rotate_secrets() -> int:
    """Re-encrypt every stored secret under the first key; returns their number."""
    stored = list(PlanSecret.objects.all())
    for each in stored:
        # update() leaves changed_at alone: it records changes by people.
        PlanSecret.objects.filter(pk=each.pk, ciphertext=each.ciphertext).update(
            ciphertext=encrypt_anew(each.ciphertext)
        )
    return len(stored)
