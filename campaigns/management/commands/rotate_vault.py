"""`manage.py rotate_vault`: run after a new key was prepended to BENCHSITE_VAULT_KEYS."""

from django.core.management.base import BaseCommand, CommandError

from campaigns.domain.errors import Refused
from campaigns.projects.services import rotate_secrets


class Command(BaseCommand):
    help = "Re-encrypts all stored secrets with the first key, so that older keys can be removed."

    def handle(self, *args, **options):
        try:
            count = rotate_secrets()
        except Refused as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"Re-encrypted {count} secrets with the first key.")
