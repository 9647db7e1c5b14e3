"""How log lines look, for people or for programs; and no secret in them."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

FORMATS = ("line", "json")
OUTAGES = {"OperationalError", "InterfaceError", "ConnectionError"}
OUTAGE_TOLD_EVERY_S = 60.0
# Beat asks both every few seconds, and its libraries write a traceback each time.
TOLD_IN_SHORT = ("celery.beat", "django_celery_beat.schedulers")
_SHARE_ADDRESS = re.compile(r"/s/[A-Za-z0-9_-]+")


class NoShareTokens(logging.Filter):
    """Redacts share link tokens: a reader of the log must not be able to open the link."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "/s/" in text:
            record.msg, record.args = _SHARE_ADDRESS.sub("/s/…", text), ()
        return True


class OutagesInShort(logging.Filter):
    """For a logger that repeats itself while PostgreSQL or Redis is away: no traceback, and each
    place in its code tells the fault once a minute."""

    def __init__(self):
        super().__init__()
        self._told_at: dict[int, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not _is_of_outage(record):
            return True
        record.msg, record.args = record.getMessage().partition("\n")[0], ()
        record.exc_info = record.exc_text = None
        last = self._told_at.get(record.lineno)
        if last is not None and record.created - last < OUTAGE_TOLD_EVERY_S:
            return False
        self._told_at[record.lineno] = record.created
        return True


def _is_of_outage(record: logging.LogRecord) -> bool:
    """By name: Django's, psycopg's, kombu's and redis-py's errors have these, and none of them may
    be imported before gunicorn has patched. Beat raises an error of its own because of them."""
    error = record.exc_info[1] if record.exc_info else None
    while error is not None:
        if any(each.__name__ in OUTAGES for each in type(error).__mro__):
            return True
        error = error.__cause__ or error.__context__
    return False


class JsonLines(logging.Formatter):
    """An object in each line: at, level, logger, message, process, and a traceback if there is
    one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def handlers(form: str) -> dict[str, Any]:
    """The parts of a logging configuration that every program has."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "no_share_tokens": {"()": "benchsite.logs.NoShareTokens"},
            "outages_in_short": {"()": "benchsite.logs.OutagesInShort"},
        },
        "formatters": {
            "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
            "json": {"()": "benchsite.logs.JsonLines"},
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": form,
                "filters": ["no_share_tokens"],
            }
        },
    }
