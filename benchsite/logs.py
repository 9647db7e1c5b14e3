"""Keeps secrets out of logs."""

import logging
import re

_SHARE_ADDRESS = re.compile(r"/s/[A-Za-z0-9_-]+")


class NoShareTokens(logging.Filter):
    """Redacts share link tokens: a reader of the log must not be able to open the link."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "/s/" in text:
            record.msg, record.args = _SHARE_ADDRESS.sub("/s/…", text), ()
        return True
