"""What a request found, and what was deleted before the request had done with it."""

import logging
import re

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError
from psycopg.errors import ForeignKeyViolation

logger = logging.getLogger(__name__)
_KEY = re.compile(r"\((\w+)\)=")


def is_of_what_is_gone(error: Exception) -> bool:
    """Whether a row was to be read again, or one was to refer to it, that somebody has deleted
    meanwhile, such as the project of a new plan: to those who ask from now on it is not there."""
    is_gone = isinstance(error, ObjectDoesNotExist) or _refers_to_nothing(error)
    if is_gone:
        logger.warning("Deleted meanwhile", exc_info=error)
    return is_gone


def _refers_to_nothing(error: Exception) -> bool:
    cause = error.__cause__ if isinstance(error, IntegrityError) else None
    if not isinstance(cause, ForeignKeyViolation):
        return False
    # In any language: "Key (project_id)=(5) is not present …", "Key (id)=(5) is still referenced …"
    key = _KEY.search(cause.diag.message_detail or "")
    return bool(key) and key[1] != "id"
