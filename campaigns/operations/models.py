"""API tokens, and who did what, when. The database itself refuses to change or delete an entry. A
share link gives read access to a campaign, run, comparison or badge without an account.

What the audit log keeps: who did something that others may have to answer for."""

from enum import StrEnum, auto

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from campaigns.campaigns.models import Campaign, Test
from campaigns.core.permissions import Actor, Role, Scope
from campaigns.projects.models import Project, ProjectQuerySet
from campaigns.runs.models import Run


class AuditEvent(StrEnum):
    """A value is stored; `words` are shown."""

    SIGNED_IN = auto()
    PASSWORD_CHANGED = auto()
    PASSWORD_RESET = auto()
    EMAIL_CHANGED = auto()
    SIGN_IN_ADDED = auto()
    SIGN_IN_REMOVED = auto()
    SESSIONS_ENDED = auto()
    ACCOUNT_CREATED = auto()
    ACCOUNT_DISABLED = auto()
    ACCOUNT_ENABLED = auto()
    ADMINISTRATOR_SET = auto()
    RESET_LINK_MADE = auto()
    TOKEN_CREATED = auto()
    TOKEN_REVOKED = auto()
    INVITED = auto()
    INVITATION_REVOKED = auto()
    INVITATION_ACCEPTED = auto()
    MEMBER_ADDED = auto()
    ROLE_CHANGED = auto()
    MEMBER_REMOVED = auto()
    SECRET_STORED = auto()
    SECRET_BOUND = auto()
    SECRET_DELETED = auto()
    CAMPAIGN_STARTED = auto()
    BLOCKS_ADDED = auto()
    CAMPAIGN_STOPPED = auto()
    RUN_STOPPED = auto()
    LOAD_SWITCHED_OFF = auto()
    LOAD_ALLOWED = auto()
    SHARED = auto()
    SHARE_REVOKED = auto()
    DELETED = auto()
    RESTORED = auto()
    DELETED_FOREVER = auto()
    OUTPUT_ADDED = auto()
    CAPS_SET = auto()
    HOST_PROVEN = auto()
    APPROVAL_ASKED = auto()
    HOST_APPROVED = auto()
    HOST_REFUSED = auto()
    PERMIT_WITHDRAWN = auto()
    EXPORTER_SET = auto()
    SCHEDULE_SET = auto()
    FILE_APPLIED = auto()
    NOTE_ADDED = auto()
    NOTE_CHANGED = auto()
    NOTE_DELETED = auto()
    CHANNEL_ADDED = auto()
    CHANNEL_CHANGED = auto()
    CHANNEL_REMOVED = auto()

    @property
    def words(self) -> str:
        return self.value.replace("_", " ").capitalize()


class ApiToken(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=10, choices=[(scope, scope.title()) for scope in Scope])
    lookup = models.CharField(max_length=16, unique=True)  # the public part, used to find the row
    token_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"


class AuditQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor):
        """All for an administrator, those of their projects for owners; none for a token."""
        if actor.is_administrator:
            return self.all()
        if not actor.is_member or actor.token is not None:
            return self.none()
        projects = actor.user.memberships.filter(role=Role.OWNER)
        return self.filter(project__in=projects.values("project"))


class AuditEntry(models.Model):
    """Numbers and names as they were: without foreign keys, so that a deletion leaves its entry."""

    at = models.DateTimeField(db_default=Now())
    project = models.BigIntegerField(null=True)  # None for what belongs to no project
    project_name = models.CharField(max_length=150, blank=True)
    who = models.CharField(max_length=150, blank=True)  # a username; "" from a shell
    token = models.CharField(max_length=100, blank=True)  # the name of the one that was used
    address = models.CharField(max_length=45, blank=True)  # of a sign-in
    deed = models.CharField(max_length=20, choices=[(deed, deed.words) for deed in AuditEvent])
    what = models.CharField(max_length=300, blank=True)  # campaign 12: nightly

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["project", "id"], name="audit_of_project")]

    def __str__(self) -> str:
        return f"{self.who or 'shell'}: {self.get_deed_display()} {self.what}".strip()


_NO_RESULT = models.Q(campaign__isnull=True, run__isnull=True)


class ShareLink(models.Model):
    project_path = "project"
    beside = ("campaign", "run__campaign", "test__campaign")

    project = models.ForeignKey(Project, models.CASCADE, related_name="share_links")
    campaign = models.ForeignKey(Campaign, models.CASCADE, null=True, blank=True)
    run = models.ForeignKey(Run, models.CASCADE, null=True, blank=True)
    # Whose badge it shows: the latest result of this plan on this arm.
    test = models.ForeignKey(Test, models.CASCADE, null=True, blank=True)
    # The columns of a comparison, as in its address: a=campaign-7&b=campaign-12.
    comparison = models.CharField(max_length=300, blank=True, default="")
    # HMAC of the token; the token itself is shown once and never stored.
    token_hash = models.CharField(max_length=64, unique=True)
    # Whether visitors see addresses, and facts about the machines of target and injectors.
    shows_machines = models.BooleanField(default=False)
    note = models.CharField(max_length=100, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    n_views = models.PositiveIntegerField(default=0)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(comparison="", test__isnull=True)
                & (models.Q(campaign__isnull=True) ^ models.Q(run__isnull=True))
                | ~models.Q(comparison="") & models.Q(_NO_RESULT, test__isnull=True)
                | models.Q(_NO_RESULT, comparison="", test__isnull=False),
                name="share_link_shows_one_thing",
            )
        ]

    def __str__(self) -> str:
        return f"link to {self.campaign or self.run or self.test or self.comparison}"
