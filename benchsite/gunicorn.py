"""The web server's configuration: gevent workers, patched before any other import.

psycopg and redis decide at import whether to wait with gevent, so the patch comes first.
"""

from gevent import monkey

monkey.patch_all()


import logging  # noqa: E402

from benchsite.env import env_choice, env_int, env_proxies, env_str  # noqa: E402
from benchsite.logs import FORMATS, NoShareTokens, handlers  # noqa: E402

bind = env_str("BENCHSITE_BIND", "127.0.0.1:8000")
worker_class = "gevent"
workers = env_int("BENCHSITE_WEB_WORKERS", 1)
worker_connections = 1000
# An open event stream must not hold up a restart for long.
graceful_timeout = 3
timeout = 60
# The control socket's default is in $HOME, where two installations would share it.
control_socket_disable = True
accesslog = "-" if env_str("BENCHSITE_ACCESS_LOG") else None
if (form := env_choice("BENCHSITE_LOG_FORMAT", FORMATS, "line")) == "json":
    _to_stderr = {"handlers": ["stderr"], "level": "INFO", "propagate": False}
    logconfig_dict = {
        **handlers(form),
        "root": {"handlers": ["stderr"], "level": "INFO"},  # gunicorn's own has another handler
        "loggers": {"gunicorn.error": _to_stderr, "gunicorn.access": _to_stderr},
    }
# On the loggers: the handlers of its own form are gunicorn's.
for _name in ("gunicorn.access", "gunicorn.error"):
    logging.getLogger(_name).addFilter(NoShareTokens())
forwarded_allow_ips = ",".join(env_proxies("BENCHSITE_TRUSTED_PROXIES", "127.0.0.1"))
