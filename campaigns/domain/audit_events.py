"""What the audit log keeps: who did something that others may have to answer for."""

from enum import StrEnum, auto


class AuditEvent(StrEnum):
    """A value is stored; `words` are shown."""

    SIGNED_IN = auto()
    PASSWORD_CHANGED = auto()
    TOKEN_CREATED = auto()
    TOKEN_REVOKED = auto()
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
