"""All settings, in titled sections. What the environment may set is listed in .env.example."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF
from django import forms
from jinja2 import ChainableUndefined
from redis.connection import parse_url

from benchsite.env import (
    WrongSetting,
    env_allowed,
    env_bool,
    env_choice,
    env_hosts,
    env_int,
    env_limits,
    env_list,
    env_networks,
    env_oidc,
    env_origin,
    env_proxies,
    env_secret,
    env_services,
    env_smtp,
    env_str,
    env_words,
    refuse_everywhere,
    refuse_weak,
)
from benchsite.logs import FORMATS, handlers
from benchsite.postgresql.bounded import PooledConnection

# Of this release, which CHANGELOG.md describes. Pages, /healthz and the API's schema show it.
VERSION = "0.2.0"
BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env_str("BENCHSITE_VAR", str(BASE_DIR / "var")))
MOST_DAYS = 36_500

# --- the kind of installation --------------------------------------------------------------------
# "local": one machine, plain HTTP on loopback (make run, make test). "server": behind TLS.
MODE = env_choice("BENCHSITE_MODE", ("local", "server"), "local")
IS_SERVER = MODE == "server"
DEBUG = False
SECRET_KEY = env_secret("BENCHSITE_SECRET_KEY")
if not SECRET_KEY:
    raise WrongSetting(
        "BENCHSITE_SECRET_KEY is not set. `make run` and `make test` make one; for a server write "
        "50 random characters into it or into the file that BENCHSITE_SECRET_KEY_FILE names."
    )
ALLOWED_HOSTS = env_hosts("BENCHSITE_HOSTS", "localhost 127.0.0.1 [::1]")
env_origin("BENCHSITE_URL")  # for its refusals
SITE_URL = env_str("BENCHSITE_URL", "http://127.0.0.1:8000").rstrip("/")
CSRF_TRUSTED_ORIGINS = [SITE_URL]
# Who may read /metrics.
METRICS_FOR = env_networks("BENCHSITE_METRICS_FOR", "127.0.0.0/8 ::1")
# On a workstation every program reaches the site as a proxy there would.
TRUSTED_PROXIES = env_proxies("BENCHSITE_TRUSTED_PROXIES", "127.0.0.1" if IS_SERVER else "")
BIND = env_str("BENCHSITE_BIND", "127.0.0.1:8000")
WEB_WORKERS = env_int("BENCHSITE_WEB_WORKERS", 1, least=1)

# --- the application -----------------------------------------------------------------------------
INSTALLED_APPS = [
    "campaigns",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",  # the administration's fields
    "django_filters",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
    "csp",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "campaigns.core.transfer.CompressionMiddleware",
    "campaigns.core.transfer.ValidatorMiddleware",
    "campaigns.core.transfer.BodyMiddleware",
    "campaigns.live.views.TurnsMiddleware",
    "campaigns.core.context.OutageMiddleware",
    "campaigns.core.access.BearerMiddleware",
    "campaigns.core.context.TimeZoneMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "campaigns.accounts.adapter.LastSeenMiddleware",
    "campaigns.core.access.SignedOutMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "benchsite.urls"
WSGI_APPLICATION = "benchsite.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "benchsite.templates.Engine",
        "NAME": "jinja",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "environment": "benchsite.templates.environment",
            # A page with a gap rather than none; in tests a gap is an error.
            "undefined": ChainableUndefined,
            "keep_trailing_newline": True,
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "campaigns.core.context.site",
                "campaigns.operations.views.load_state",
            ],
        },
    },
    {
        "BACKEND": "django.template.backends.jinja2.Jinja2",
        "NAME": "fields",  # of forms, which Django draws
        "DIRS": [Path(forms.__file__).parent / "jinja2"],
        "OPTIONS": {"environment": "benchsite.templates.Environment"},
    },
    {  # of Django's administration alone
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True

# --- PostgreSQL: the source of truth -------------------------------------------------------------
DATABASE_URL = env_str("DATABASE_URL")
if not DATABASE_URL:
    raise WrongSetting("DATABASE_URL is not set. `make run` starts a PostgreSQL and sets it.")
try:
    DATABASES = {"default": dj_database_url.parse(DATABASE_URL)}
except ValueError as error:
    raise WrongSetting(f"DATABASE_URL is not the address of a database: {error}") from None
if DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
    raise WrongSetting("DATABASE_URL: write one that begins with postgres://.")
DATABASES["default"]["ENGINE"] = "benchsite.postgresql"
DATABASES["default"]["CONN_MAX_AGE"] = 0
# After so many seconds without an answer PostgreSQL counts as away, for every process. A server
# that works says so itself before: its own limit for a statement is three quarters of it.
DB_ANSWER_S = env_int("BENCHSITE_DB_ANSWER_S", 20, least=1)
DATABASES["default"]["OPTIONS"] = {
    **DATABASES["default"].get("OPTIONS", {}),
    # Bounded: 300 simultaneous viewers share 20 connections instead of opening 300.
    "pool": {
        "min_size": 1,
        "max_size": env_int("BENCHSITE_DB_POOL", 20, least=1),
        "timeout": 5,
        "connection_class": PooledConnection,
    },
    "answer_within_s": DB_ANSWER_S,
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    # The server's own keepalives: it drops the session of a host that vanished, and with it the
    # dispatcher's lock, within some 10 s instead of two hours.
    "options": f"-c statement_timeout={DB_ANSWER_S * 750} -c lock_timeout=5000 "
    "-c idle_in_transaction_session_timeout=20000 "
    "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3 "
    "-c tcp_user_timeout=10000",
}

# --- Redis and Celery: doorbells, pokes, and what is cached --------------------------------------
REDIS_URL = env_str("REDIS_URL")
if not REDIS_URL:
    raise WrongSetting("REDIS_URL is not set. `make run` starts a Redis and sets it.")
try:
    parse_url(REDIS_URL)
except ValueError as error:
    raise WrongSetting(f"REDIS_URL is not the address of a Redis: {error}") from None
# What is kept ready; a page waits for it no longer than for a doorbell (campaigns/core/queue.py).
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "results": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": [REDIS_URL],
        "KEY_PREFIX": "benchsite",
        "OPTIONS": {
            "serializer": "campaigns.core.cache.CompressedJson",
            "socket_timeout": 0.4,
            "socket_connect_timeout": 0.4,
            "retry": None,
            "protocol": 2,
        },
    },
}


# Celery spells a Redis socket `redis+socket://`, redis-py spells it `unix://`.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_DEFAULT_QUEUE = "general"
CELERY_TASK_ROUTES = {"workers.inject": {"queue": "inject"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A busy injector host must not prefetch doorbells that an idle one could answer.
CELERY_WORKER_DISABLE_PREFETCH = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "health_check_interval": 15,
    # A run may outlast the default of an hour, although messages are acknowledged early.
    "visibility_timeout": 12 * 3600,
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"

# --- the engine ----------------------------------------------------------------------------------
# Networks that injectors may connect to. A server allows nothing until its settings list networks,
# and a workstation only itself. 10.1.0.0/16:8000-8999 allows only these ports there.
LOCAL_NETWORKS = "127.0.0.0/8 ::1/128"
# Beside PostgreSQL and Redis; by default where the web process listens.
NEVER = env_services("BENCHSITE_NEVER") or env_services("BENCHSITE_BIND", BIND)
ALLOWED_NETWORKS = env_allowed("BENCHSITE_ALLOWED_NETWORKS", "" if IS_SERVER else LOCAL_NETWORKS)
if IS_SERVER:
    refuse_everywhere("BENCHSITE_ALLOWED_NETWORKS", ALLOWED_NETWORKS)
# Days for which a proof that a host is a project's own lets load go there although no list has its
# addresses; 0: neither proofs nor approvals do, only the list.
PROOF_DAYS = env_int("BENCHSITE_PROOF_DAYS", 90 if IS_SERVER else 0, most=MOST_DAYS)
# Beside public addresses; never where no load may go, either.
NOTIFY_NETWORKS = env_allowed("BENCHSITE_NOTIFY_NETWORKS", " ".join(ALLOWED_NETWORKS))
# The installation's own target, which campaigns measure as their reference; None for none.
REFERENCE_TARGET = env_origin("BENCHSITE_REFERENCE_TARGET")
INJECTOR_SLOTS = env_int("BENCHSITE_INJECTOR_SLOTS", 12, least=1)
# Of each injector process. An idle one takes 110 MB, 10,000 connections over TLS some 600 MB more.
INJECTOR_MEMORY_MB = env_int("BENCHSITE_INJECTOR_MEMORY_MB", 2048, least=256)
INJECTOR_NAME = env_str("BENCHSITE_INJECTOR_NAME")
INJECTOR_COMMAND = env_words("BENCHSITE_INJECTOR", (sys.executable, "-m", "workers.injector"))
# A file that the dispatcher touches while it works, for whoever restarts what hangs.
PULSE_FILE = env_str("BENCHSITE_PULSE")
SPOOL_DIR = Path(env_str("BENCHSITE_SPOOL", str(VAR_DIR / "spool")))
START_DELAY_ONE_HOST_S = 0.4
START_DELAY_HOSTS_S = 3.0
# A launcher renews its lease every HEARTBEAT_S, stops sending after DEAD_MAN_S without an answer,
# and loses the lease after LEASE_S: in this order, so that no load outlives its lease.
HEARTBEAT_S = env_int("BENCHSITE_HEARTBEAT_S", 2)
DEAD_MAN_S = env_int("BENCHSITE_DEAD_MAN_S", 20)
LEASE_S = env_int("BENCHSITE_LEASE_S", 30)
if not 0 < HEARTBEAT_S < DEAD_MAN_S < LEASE_S:
    raise WrongSetting(
        f"BENCHSITE_HEARTBEAT_S={HEARTBEAT_S}, BENCHSITE_DEAD_MAN_S={DEAD_MAN_S}, "
        f"BENCHSITE_LEASE_S={LEASE_S}: write numbers that grow in this order."
    )
# What a project may use at most; 0: no cap. Administrators set others for a project.
CAPS = {
    "RUNS": env_int("BENCHSITE_CAP_RUNS", 8),
    # A workstation is one person's, whatever projects there are.
    "SLOT_PERCENT": env_int("BENCHSITE_CAP_SLOT_PERCENT", 75 if IS_SERVER else 0, most=100),
    "LOAD_HOURS": env_int("BENCHSITE_CAP_LOAD_HOURS", 48),
    "PLANS": env_int("BENCHSITE_CAP_PLANS", 1000),
    "CAMPAIGNS": env_int("BENCHSITE_CAP_CAMPAIGNS", 10_000),
    "STORED_GB": env_int("BENCHSITE_CAP_STORED_GB", 20),
    "RATE_PER_S": env_int("BENCHSITE_CAP_RATE_PER_S", 20_000),
}
# Seconds of finished runs are removed after so many days, 0: never; late ones come within a day.
KEEP_SECONDS_DAYS = env_int("BENCHSITE_KEEP_SECONDS_DAYS", 30, most=MOST_DAYS)
if KEEP_SECONDS_DAYS == 1:
    raise WrongSetting("BENCHSITE_KEEP_SECONDS_DAYS=1: write at least 2, or 0 for ever.")
# Limits that differ from campaigns.domain.analysis.judgement.LIMITS: {code: (mild, severe)}.
JUDGEMENT_LIMITS = env_limits("BENCHSITE_JUDGEMENT_LIMITS")

# --- accounts ------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
_DJANGOS = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": name}
    for name in (
        f"{_DJANGOS}.UserAttributeSimilarityValidator",
        f"{_DJANGOS}.MinimumLengthValidator",
        f"{_DJANGOS}.CommonPasswordValidator",
        f"{_DJANGOS}.NumericPasswordValidator",
        "campaigns.accounts.forms.NotTheUserName",
    )
]
LOGIN_URL = "account_login"  # allauth reverses its views by names of its own
LOGIN_REDIRECT_URL = "project-list"
LOGOUT_REDIRECT_URL = "account_login"
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600
ACCOUNT_ADAPTER = "campaigns.accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_SIGNUP_ENABLED = False  # accounts come from invitations, administrators and the provider
ACCOUNT_EMAIL_VERIFICATION = "none"  # of a sign-in: an address is optional
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if IS_SERVER else "http"
ACCOUNT_REAUTHENTICATION_METHODS = ("password", "mfa")
ACCOUNT_FORMS = {
    "login": "campaigns.accounts.forms.SignInForm",
    "change_password": "campaigns.accounts.forms.NewPasswordForm",
    "set_password": "campaigns.accounts.forms.FirstPasswordForm",
}
MFA_ADAPTER = "campaigns.accounts.adapter.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not IS_SERVER  # http://localhost
MFA_TOTP_TOLERANCE = 1  # of 30 s, for clocks of phones
MFA_FORMS = {
    "authenticate": "campaigns.accounts.forms.CodeForm",
    "reauthenticate": "campaigns.accounts.forms.ConfirmCodeForm",
    "add_webauthn": "campaigns.accounts.forms.PasskeyForm",
}
SOCIALACCOUNT_ADAPTER = "campaigns.accounts.adapter.ProviderAdapter"
OIDC_KEY = "oidc"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"OAUTH_PKCE_ENABLED": True, **env_oidc(OIDC_KEY, IS_SERVER)}
}
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_REAUTHENTICATION_REQUIRED = True
# Whoever the provider gives a verified address in these domains gets an account.
OIDC_DOMAINS = [domain.lower() for domain in env_list("BENCHSITE_OIDC_DOMAINS")]
PROJECTS_BY = env_choice("BENCHSITE_PROJECTS_BY", ("everybody", "administrators"), "everybody")
AXES_HANDLER = "campaigns.core.audit.SignInHandler"
AXES_FAILURE_LIMIT = 5
WRONG_PASSWORDS_OF_AN_ADDRESS = 50  # for all names together, in the same time
AXES_COOLOFF_TIME = 0.25  # hours
AXES_CLIENT_IP_CALLABLE = "campaigns.core.access.client_address_of"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "429.html"  # allauth renders it too
# Tokens and share links are stored as HMAC-SHA256 under this key; separate from SECRET_KEY, so that
# either can be rotated alone.
TOKEN_PEPPER = env_secret("BENCHSITE_TOKEN_PEPPER") or SECRET_KEY
# Secrets that are sent to targets are encrypted under the first key; the others only decrypt.
VAULT_KEYS = env_secret("BENCHSITE_VAULT_KEYS").split() or [SECRET_KEY]
if IS_SERVER:
    for name, secret in (
        ("BENCHSITE_SECRET_KEY", SECRET_KEY),
        ("BENCHSITE_TOKEN_PEPPER", TOKEN_PEPPER),
        *(("BENCHSITE_VAULT_KEYS", key) for key in VAULT_KEYS),
    ):
        refuse_weak(name, secret)

# --- e-mail --------------------------------------------------------------------------------------
EMAIL_TIMEOUT = 10
HAS_EMAIL = bool(env_secret("BENCHSITE_SMTP"))
globals().update(env_smtp("BENCHSITE_SMTP"))
DEFAULT_FROM_EMAIL = env_str("BENCHSITE_MAIL_FROM", f"benchsite@{urlsplit(SITE_URL).hostname}")

# --- security ------------------------------------------------------------------------------------
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "campaigns.core.context.csrf_failure"
SESSION_COOKIE_SECURE = IS_SERVER
CSRF_COOKIE_SECURE = IS_SERVER
SECURE_SSL_REDIRECT = IS_SERVER and env_bool("BENCHSITE_SSL_REDIRECT", True)
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = env_int("BENCHSITE_HSTS_S", 31_536_000 if IS_SERVER else 0, most=63_072_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env_bool("BENCHSITE_HSTS_SUBDOMAINS")
SECURE_HSTS_PRELOAD = env_bool("BENCHSITE_HSTS_PRELOAD")
# Whether other names are HTTPS only, too, is the operator's to say.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if IS_SERVER else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
# Of a request; a view that takes more says so: campaigns.core.transfer.takes_bytes.
MOST_BODY_BYTES = 1024 * 1024
# Each byte of it may be written as three, which take long to read.
MOST_URLENCODED_BYTES = 256 * 1024
# A plan as JSON, with a file of 8 MiB as base64; its form, with files for bodies.
MOST_PLAN_BYTES, MOST_PLAN_FORM_BYTES = 14 * 1024 * 1024, 34 * 1024 * 1024
MOST_MANIFEST_BYTES = 2 * 1024 * 1024  # benchsite.yaml
MOST_PASTE_BYTES = 4 * 1024 * 1024  # a HAR file, or an OpenAPI document
# Of a form all but its files, for that is written back; of JSON the most that other views may say.
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024

# --- static files --------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # no page names the others
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "benchsite.staticfiles.OwnFilesFinder",
    "benchsite.staticfiles.AppFilesFinder",
    "benchsite.staticfiles.NodeModulesFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "benchsite.staticfiles.HashedStaticFilesStorage"},
}

# --- REST ----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "campaigns.accounts.tokens.TokenAuthentication",
        "campaigns.accounts.tokens.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["campaigns.rest.parsers.StorableJSONParser"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_PAGINATION_CLASS": "campaigns.rest.parsers.Pages",
    "DEFAULT_SCHEMA_CLASS": "campaigns.rest.fields.BoundedSchema",
    "EXCEPTION_HANDLER": "campaigns.rest.errors.one_error_shape",
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "benchsite",
    "DESCRIPTION": "Benchmark campaigns over REST: the same services and rights as the pages.",
    "VERSION": VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "CampaignState": "campaigns.rest.fields.CAMPAIGN_STATES",
        "RunState": "campaigns.rest.fields.RUN_STATES",
        "Outcome": "campaigns.rest.fields.OUTCOMES",
        "Trust": "campaigns.rest.fields.TRUSTS",
        "TargetState": "campaigns.rest.fields.TARGET_STATES",
        "Precision": "campaigns.rest.fields.PRECISIONS",
        "ConnectionMode": "campaigns.rest.fields.CONNECTION_MODES",
        "PerfOf": "campaigns.rest.fields.PERF_OF",
        "Role": "campaigns.rest.fields.ROLES",
        "RowOrder": "campaigns.rest.fields.ROW_ORDERS",
        "CampaignOrder": "campaigns.models.Campaign.Order",
        "Word": "campaigns.rest.fields.WORDS",
        "CapacityWord": "campaigns.rest.fields.CAPACITY_WORDS",
        "HttpVersion": "campaigns.rest.fields.HTTP_VERSIONS",
        "TlsVersion": "campaigns.rest.fields.TLS_VERSIONS",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "campaigns.rest.schema.describe_errors",
    ],
}

# --- logs ----------------------------------------------------------------------------------------
LOG_LEVEL = env_choice("BENCHSITE_LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
LOG_FORMAT = env_choice("BENCHSITE_LOG_FORMAT", FORMATS, "line")
LOGGING = {
    **handlers(LOG_FORMAT),
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {"axes": {"level": "WARNING"}},
}
