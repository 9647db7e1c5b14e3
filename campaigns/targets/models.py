"""A target is the system under test; its endpoints are its origins. Who owns a host, and the TLS
profiles that a project named."""

from dataclasses import replace

from django.conf import settings
from django.db import models
from django.db.models import Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce, Now

from campaigns.domain.plan.addresses import written_place
from campaigns.domain.plan.target import SCHEMES, Origin
from campaigns.domain.plan.tls_options import (
    MOST_NAME,
    PROFILES,
    TlsOptions,
    TlsProfile,
    command_options,
    own_profile,
)
from campaigns.domain.typed_text import REFERENCE_TAG
from campaigns.projects.models import Item, Project, ProjectQuerySet, deleted_are_archived


class HostClaim(models.Model):
    """A project says that a host is its own; the token belongs to both."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="host_claims")
    host = models.CharField(max_length=253)  # by domain.plan.ownership.host_key
    token = models.CharField(max_length=43)
    # The latest check: asked for by whom, and what a worker saw then.
    asked_at = models.DateTimeField(null=True, blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    checked_at = models.DateTimeField(null=True, blank=True)
    places = models.JSONField(default=list)  # ["10.0.0.5/32:443"], all that would be dialled
    faults = models.JSONField(default=list)  # sentences
    # Whether an administrator is asked for an approval, and what the last one said.
    approval_asked_at = models.DateTimeField(null=True, blank=True)
    approval_asked_by = models.CharField(max_length=150, blank=True)
    approval_reason = models.CharField(max_length=300, blank=True)
    refused_at = models.DateTimeField(null=True, blank=True)
    refused_by = models.CharField(max_length=150, blank=True)
    refusal = models.CharField(max_length=300, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "host"], name="one_claim_per_host")
        ]

    def __str__(self) -> str:
        return self.host

    @property
    def written_places(self) -> list[str]:
        return list(map(written_place, self.places))


class HostPermit(models.Model):
    """A proof or an approval, with names as they were. It permits its places and nothing else."""

    class Kind(models.TextChoices):
        PROOF = "proof"
        APPROVAL = "approval"

    project_path = "claim__project"

    claim = models.ForeignKey(HostClaim, models.CASCADE, related_name="permits")
    kind = models.CharField(max_length=8, choices=Kind)
    places = models.JSONField()
    given_at = models.DateTimeField(db_default=Now())
    given_by = models.CharField(max_length=150, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.CharField(max_length=150, blank=True)
    withdrawal = models.CharField(max_length=300, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["claim", "kind"],
                condition=models.Q(withdrawn_at=None),
                name="one_current_permit_per_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.claim.host}"

    @property
    def written_places(self) -> list[str]:
        return list(map(written_place, self.places))


class OwnTlsProfile(models.Model):
    """Endpoints name it in their options (`tls["profile"]`), as they name one of PROFILES."""

    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="tls_profiles")
    name = models.CharField(max_length=MOST_NAME)
    # The fields of domain.plan.tls_options.TlsOptions that it sets.
    offers = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="one_tls_profile_per_name")
        ]

    def __str__(self) -> str:
        return self.name

    def value(self) -> TlsProfile:
        return own_profile(self.name, self.offers)

    @property
    def options(self) -> str:
        """What it offers, for the command line; "" where it sets nothing."""
        return command_options(self.offers)


class Target(Item):
    project_path = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="targets")
    name = models.CharField(max_length=100)
    # Free-form facts about the machine for a study's tables: [["CPU", "4 × Xeon 2.2 GHz"], …].
    environment = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    # Off while its address was only tried: no list or form has it, and it goes after a while.
    is_kept = models.BooleanField(default=True, db_default=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            deleted_are_archived("target"),
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=models.Q(archived_at=None, is_kept=True),
                name="one_target_per_name",
            ),
        ]

    @property
    def is_reference(self) -> bool:
        """Whether it is measured beside the others to see whether the environment moved."""
        return REFERENCE_TAG in self.tags

    def __str__(self) -> str:
        return self.name


class Endpoint(models.Model):
    project_path = "target__project"
    encrypted = ("client_key",)
    SCHEMES = SCHEMES

    target = models.ForeignKey(Target, models.CASCADE, related_name="endpoints")
    scheme = models.CharField(max_length=5, choices=[(scheme, scheme) for scheme in SCHEMES])
    host = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    # Off only for self-signed certificates; every page that shows a result says so.
    verify_tls = models.BooleanField(default=True)
    # The non-default fields of domain.plan.tls_options.TlsOptions.
    tls = models.JSONField(default=dict, blank=True)
    # The client certificate's key, encrypted by projects.services; only orders carry it.
    client_key = models.TextField(default="", blank=True, editable=False)
    # What connections go to in place of what a name server says of the host; "" without.
    address = models.CharField(max_length=45, default="", db_default="", blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    # In place of its host, for a reader who may not see machines; see queries.arms.hide_hosts.
    hidden_host = ""

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["scheme", "host", "port", "pk"]
        constraints = [
            models.UniqueConstraint(
                "target",
                "scheme",
                "host",
                "port",
                Coalesce(KeyTextTransform("profile", "tls"), Value("")),
                "address",
                condition=models.Q(archived_at=None),
                name="one_endpoint_per_origin",
            ),
            models.CheckConstraint(
                condition=models.Q(port__gte=1, port__lte=65535), name="endpoint_port_range"
            ),
        ]

    def __str__(self) -> str:
        return ", ".join(filter(None, [self.described().place, self.tls_profile]))

    @property
    def siblings(self) -> models.QuerySet["Endpoint"]:
        """The target's endpoints of the other scheme on the same host, which are tried with it."""
        other = "http" if self.scheme == "https" else "https"
        at = {"host": self.host, "address": self.address}
        return self.target.endpoints.filter(scheme=other, **at, archived_at=None)

    @property
    def named(self) -> str:
        """In lists and menus: targets share origins."""
        return f"{self.target.name}: {self}"

    @property
    def told_host(self) -> str:
        """What connections go to, as the reader may know it."""
        return self.hidden_host or self.dialled

    @property
    def dialled(self) -> str:
        """The name or the address that connections go to."""
        return self.address or self.host

    @property
    def origin(self) -> str:
        return str(self.described())

    def described(self) -> Origin:
        """With its own options, and of its TLS profile the name."""
        where = self.scheme, self.host, self.port, self.verify_tls
        return Origin(*where, TlsOptions(**self.tls), address=self.address)

    def frozen(self) -> Origin:
        """The copy stored with a run, of which injectors get orders: with what its TLS profile
        means now."""
        origin = self.described()
        # None for a profile that comes with benchsite, and for one that was deleted: then the
        # endpoint, an archived one, has what it offered among its own options.
        name, own = origin.tls.profile, None
        if name not in PROFILES:
            own = OwnTlsProfile.objects.filter(project=self.target.project_id, name=name).first()
        return replace(origin, tls=origin.tls.resolved(own and own.value()))

    @property
    def tls_words(self) -> list[str]:
        return TlsOptions(**self.tls).words()

    @property
    def tls_profile(self) -> str:
        """The name of its TLS profile; "" for the standard one."""
        return TlsOptions(**self.tls).profile_name

    @property
    def has_client_key(self) -> bool:
        return bool(self.client_key)
