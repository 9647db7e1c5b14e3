"""What a log must not hold."""

import logging
import re

_SHARE_ADDRESS = re.compile(r"/s/[A-Za-z0-9_-]+")


class NoShareTokens(logging.Filter):
    """Whoever reads a log must not be able to open a share link: its token is blotted out."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if "/s/" in text:
            record.msg, record.args = _SHARE_ADDRESS.sub("/s/…", text), ()
        return True
