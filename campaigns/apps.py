"""The app's registration."""

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings

from campaigns.domain.analysis.judgement import LimitsByCode


class CampaignsConfig(AppConfig):
    name = "campaigns"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        for features in ("notifications.models", "accounts.models", "accounts.adapter"):
            import_module(f"campaigns.{features}")  # no layer imports them
        try:
            LimitsByCode.with_overrides(
                settings.JUDGEMENT_LIMITS
            )  # a mistake should show now, not when a run ends
        except KeyError as error:
            raise SystemExit(error.args[0]) from None
