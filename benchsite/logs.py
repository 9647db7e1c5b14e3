"""How log lines look, for people or for programs; and no secret in them."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

FORMATS = ("line", "json")
_SHARE_ADDRESS = re.compile(r"/s/[A-Za-z0-9_-]+")


class NoShareTokens(logging.Filter):
    """Redacts share link tokens: a reader of the log must not be able to open the link."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "/s/" in text:
            record.msg, record.args = _SHARE_ADDRESS.sub("/s/…", text), ()
        return True


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
        "filters": {"no_share_tokens": {"()": "benchsite.logs.NoShareTokens"}},
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
