"""Create projects and manage their members and roles.

Encrypts stored secrets that must be sent on (credentials, private keys), such as the keys of
client certificates. The secrets of plans' credentials: written by editors, read only by launchers.
A secret is sent only to its origins. Who entered it adds one by being the first to use it there;
others would read it by measuring a server of their own, so they have to enter it again."""

import base64
import hmac
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from allauth.mfa.models import Authenticator
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, Role, Scope, may_create_projects, require
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.target import Origin
from campaigns.domain.typed_text import clean_name
from campaigns.models import Endpoint, Membership, PlanSecret, PlanVersion, Project, Run, SavedPlan
from campaigns.operations.models import AuditEvent


@transaction.atomic
def create_project(*, by: Actor, name: str) -> Project:
    """Raises Forbidden, InvalidFields."""
    if not by.is_member or (by.token is not None and by.token.scope != Scope.WRITE):
        raise Forbidden("Sign in to create a project, or use a token with the scope write.")
    if not may_create_projects(by):
        raise Forbidden(
            "Only administrators create projects in this installation. Ask one of them, and to be "
            "made the project's owner."
        )
    if not (name := clean_name(name)):
        raise InvalidFields({"name": "Give the project a name."})
    project = Project.objects.create(name=name)
    Membership.objects.create(project=project, user=by.user, role=Role.OWNER)
    return project


def add_member(*, by: Actor, project: Project, username: str, role: str) -> Membership:
    require(by, Action.MANAGE, project)
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise Refused(
            f"There is no account named {username}. Check the spelling, including capital letters, "
            "or ask an administrator to create the account."
        )
    try:
        with transaction.atomic():
            audit.note(by, AuditEvent.MEMBER_ADDED, f"{username} as {role}", project=project)
            return Membership.objects.create(project=project, user=user, role=Role(role))
    except IntegrityError:
        raise Refused(f"{username} is already a member. Change the role in the list.") from None


@transaction.atomic
def change_role(*, by: Actor, membership: Membership, role: str) -> None:
    require(by, Action.MANAGE, membership.project)
    if Role(role) != Role.OWNER:
        _keep_an_owner(membership)
    before = _lock(membership).role
    if before == role:
        return
    Membership.objects.filter(pk=membership.pk).update(role=Role(role))
    text = f"{membership.user.get_username()}: {before} to {role}"
    audit.note(by, AuditEvent.ROLE_CHANGED, text, project=membership.project)


@transaction.atomic
def remove_member(*, by: Actor, membership: Membership) -> None:
    require(by, Action.MANAGE, membership.project)
    _keep_an_owner(membership)
    _lock(membership)
    who = membership.user.get_username()
    audit.note(by, AuditEvent.MEMBER_REMOVED, who, project=membership.project)
    membership.delete()


def _lock(membership: Membership) -> Membership:
    """As it is now, and until the transaction ends: the log must tell what was done. After the lock
    of the owners, so that two owners who change each other's roles wait in one order."""
    row = Membership.objects.select_for_update(of=("self",)).filter(pk=membership.pk).first()
    if row is None:
        raise Refused(f"{membership.user} is no longer a member.")
    return row


def _keep_an_owner(membership: Membership) -> None:
    """Refuse to remove the last owner; the lock serialises owners who leave at the same time."""
    owners = membership.project.memberships.select_for_update().filter(role=Role.OWNER)
    if {owner.pk for owner in owners} == {membership.pk}:
        raise Refused(
            f"{membership.user} is the only owner. Make someone else an owner first; "
            "a project needs at least one."
        )


def encrypt(secret: str) -> str:
    """The secret encrypted under the first key of settings.VAULT_KEYS, as it is stored."""
    return _vault().encrypt(secret.encode()).decode()


def decrypt(ciphertext: str) -> str:
    """The secret, decrypted with whichever key fits. Raises Refused if none does."""
    try:
        return _vault().decrypt(ciphertext.encode()).decode()
    except InvalidToken:
        raise Refused(
            "A stored secret cannot be decrypted with any key in BENCHSITE_VAULT_KEYS. Add the key "
            "that it was stored with, or enter the secret again."
        ) from None


def encrypt_anew(ciphertext: str) -> str:
    """The same secret re-encrypted under the first key, so that older keys can be removed."""
    return encrypt(decrypt(ciphertext))


def _vault() -> MultiFernet:
    key_bytes = (
        HKDF(SHA256(), length=32, salt=None, info=b"benchsite vault").derive(key.encode())
        for key in settings.VAULT_KEYS
    )
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in key_bytes])


def keyed_hash(secret: str, purpose: str) -> str:
    """64 hex digits; `purpose` keeps a hash of one kind of secret from passing as another's."""
    message = f"{purpose}:{secret}".encode("utf-8", "surrogatepass")
    return hmac.new(settings.TOKEN_PEPPER.encode(), message, sha256).hexdigest()


def keep_key(endpoint: Endpoint, origin: Origin) -> str | None:
    """Store the given key, or keep the endpoint's own; returns what is wrong with it, or None.
    Without a certificate the key is dropped."""
    certificate = origin.tls.client_certificate_pem
    if not certificate:
        endpoint.client_key = ""
        return None
    key = origin.client_key_pem or (decrypt(endpoint.client_key) if endpoint.client_key else "")
    fault = _key_fault(certificate, key)
    if fault is None and origin.client_key_pem:
        endpoint.client_key = encrypt(key)
    return fault


def _key_fault(certificate_pem: str, key_pem: str) -> str | None:
    """Why this key does not work with this certificate, or None."""
    if not key_pem:
        return "The client certificate needs its private key. Paste it as PEM."
    try:
        key = load_pem_private_key(key_pem.encode(), password=None)
    except TypeError:
        return "The key is encrypted. Paste it without a passphrase; it is stored encrypted here."
    except ValueError:
        return "This is not a private key in PEM format (-----BEGIN PRIVATE KEY-----)."
    except UnsupportedAlgorithm:
        return "Keys of this kind are not supported. Take RSA, ECDSA (P-256, P-384) or Ed25519."
    if not _belong_together(key, certificate_pem):
        return "The key does not belong to the certificate."
    return None


def _belong_together(key: PrivateKeyTypes, certificate_pem: str) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
        return key.public_key() == certificate.public_key()
    except (UnsupportedAlgorithm, ValueError):  # not a kind of key that this one is of
        return False


def secret_of(endpoint: Endpoint) -> dict[str, str]:
    """The key in the form of an order's `secrets`. Raises Refused."""
    return {"client_key": decrypt(endpoint.client_key)} if endpoint.client_key else {}


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
    row = PlanSecret.objects.select_for_update().filter(plan=plan).first()
    if row is not None and not _are_still_its_origins(row, by, secret):
        values["origins"] = []
    PlanSecret.objects.update_or_create(plan=plan, defaults=values)
    audit.note(by, AuditEvent.SECRET_STORED, _label(plan), project=plan.project)


def _are_still_its_origins(row: PlanSecret, by: Actor, secret: str) -> bool:
    """Origins that somebody else chose for another secret may be theirs."""
    if row.changed_by_id == by.user.pk:
        return True
    try:
        return decrypt(row.ciphertext) == secret
    except Refused:
        return False


def _label(plan: SavedPlan) -> str:
    return f"plan {plan.pk}: {plan.name}"


def with_secrets(order: Mapping[str, Any], runs: Sequence[int]) -> dict[str, Any]:
    """A shard's order with the secrets that its launcher adds. `runs`: those of its arms, or the
    only one. Raises Refused if no key decrypts a stored secret."""
    rows = Run.objects.select_related("test__endpoint").in_bulk(runs)
    secrets = []
    for pk in runs:
        frozen, of_plan = rows[pk].frozen, {}
        if frozen.plan.auth.kind != AuthKind.NONE:
            secrets_of_run = PlanSecret.objects.filter(plan__versions__tests__runs=pk)
            of_plan = _for_origin(secrets_of_run, frozen.endpoint.place)
        secrets.append(of_plan | secret_of(rows[pk].test.endpoint))
    if "arms" not in order:
        return {**order, "secrets": secrets[0]} if secrets[0] else {**order}
    arms = [
        {**arm, "secrets": own} if own else arm
        for arm, own in zip(order["arms"], secrets, strict=True)
    ]
    return {**order, "arms": arms}


def secret_of_plan(plan: int | None, endpoint: Endpoint) -> dict[str, str]:
    """A plan's secret in the form of an order's `secrets`; {} if it has none. Raises Refused if it
    may not be sent to this endpoint, or no key decrypts it."""
    return (
        _for_origin(PlanSecret.objects.filter(plan=plan), endpoint.described().place)
        if plan
        else {}
    )


def _for_origin(secrets, origin: str) -> dict[str, str]:
    row = secrets.select_related("plan").first()
    if row is None:
        return {}
    if origin not in row.origins:
        raise Refused(_not_for(row, origin))
    return {"auth": decrypt(row.ciphertext)}


def _not_for(row: PlanSecret, origin: str) -> str:
    return (
        f"The secret of {row.plan} was not entered for {origin}. To send it there, edit the "
        "plan and enter it again, or let the person who entered it send the first request."
    )


def share_secret(*, by: Actor, source: int, plan: SavedPlan) -> None:
    """Give a plan the stored secret of another plan of its project."""
    require(by, Action.EDIT, plan.project)
    row = PlanSecret.objects.filter(plan=source, plan__project=plan.project_id).first()
    if row is not None:
        # Still as entered by whoever entered it, for the same origins.
        columns = ("ciphertext", "changed_by", "origins")
        values = {name: getattr(row, name) for name in columns}
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
    row = secrets.filter(plan=version.plan_id).first()
    place = endpoint.described().place
    if row is None or place in row.origins:
        return
    if row.changed_by_id != by.user.pk:
        raise Refused(_not_for(row, place))
    PlanSecret.objects.filter(pk=row.pk).update(origins=[*row.origins, place])
    label = f"{_label(row.plan)}, {place}"
    audit.note(by, AuditEvent.SECRET_BOUND, label, project=row.plan.project)


# Where allauth has what is encrypted of a second factor.
_SECRET_OF = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}


def rotate_secrets() -> int:
    """Re-encrypt all that is stored under the first key; how many secrets these are. Models name
    the columns that are `encrypted`."""
    n_stored = 0
    models = apps.get_models()
    columns = [(model, column) for model in models for column in getattr(model, "encrypted", ())]
    for model, column in columns:
        for pk, ciphertext in model.objects.exclude(**{column: ""}).values_list("pk", column):
            # update() leaves changed_at alone: it records changes by people.
            rows = model.objects.filter(pk=pk, **{column: ciphertext})
            rows.update(**{column: encrypt_anew(ciphertext)})
            n_stored += 1
    for factor in Authenticator.objects.filter(type__in=_SECRET_OF):
        name = _SECRET_OF[factor.type]
        data = factor.data | {name: encrypt_anew(factor.data[name])}
        Authenticator.objects.filter(pk=factor.pk, data=factor.data).update(data=data)
        n_stored += 1
    return n_stored
