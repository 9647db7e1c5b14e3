"""The web server's configuration: gevent workers, patched before any other import.

psycopg and redis decide at import whether to wait with gevent, so the patch comes first.
"""

from gevent import monkey

monkey.patch_all()


import logging  # noqa: E402

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
forwarded_allow_ips = ",".join(settings.TRUSTED_PROXIES)
