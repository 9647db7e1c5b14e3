"""The app's registration."""

from django.apps import AppConfig
from django.conf import settings

from campaigns.domain.analysis.judgement import limits_with


class CampaignsConfig(AppConfig):
    name = "campaigns"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        try:
            limits_with(settings.JUDGEMENT_LIMITS)  # a mistake should show now, not when a run ends
        except KeyError as error:
            raise SystemExit(error.args[0]) from None
