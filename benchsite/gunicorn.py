"""The web server's configuration: gevent workers, patched before any other import.

psycopg and redis decide at import whether to wait with gevent, so the patch comes first.
"""

from gevent import monkey

monkey.patch_all()


import logging  # noqa: E402

import gevent  # noqa: E402

from benchsite import settings  # noqa: E402
from benchsite.env import env_str  # noqa: E402
from benchsite.logs import NoShareTokens, handlers  # noqa: E402

bind = settings.BIND
worker_class = "gevent"
workers = settings.WEB_WORKERS
worker_connections = 1000
# An open event stream must not hold up a restart for long.
graceful_timeout = 3
timeout = 60
# The control socket's default is in $HOME, where two installations would share it.
control_socket_disable = True
MOST_UNREAD_BYTES, UNREAD_AT_ONCE, UNREAD_WITHIN_S = 8 * 1024 * 1024, 64 * 1024, 5.0
accesslog = "-" if env_str("BENCHSITE_ACCESS_LOG") else None
if settings.LOG_FORMAT == "json":
    _to_stderr = {"handlers": ["stderr"], "level": "INFO", "propagate": False}
    logconfig_dict = {
        **handlers(settings.LOG_FORMAT),
        "root": {"handlers": ["stderr"], "level": "INFO"},  # gunicorn's own has another handler
        "loggers": {"gunicorn.error": _to_stderr, "gunicorn.access": _to_stderr},
    }
# On the loggers: the handlers of its own form are gunicorn's.
for _name in ("gunicorn.access", "gunicorn.error"):
    logging.getLogger(_name).addFilter(NoShareTokens())


def post_request(worker, req, environ, resp):
    """Reads what nobody wanted of a body, in turns with all others, so that its sender gets the
    answer; gunicorn itself would read it to its end at once. Of what is longer, or does not come,
    the connection ends."""
    with gevent.Timeout(UNREAD_WITHIN_S, False):
        for _ in range(MOST_UNREAD_BYTES // UNREAD_AT_ONCE):
            if not req.body.read(UNREAD_AT_ONCE):
                return
            gevent.sleep(0)
    req.must_close = True


forwarded_allow_ips = ",".join(settings.TRUSTED_PROXIES)
