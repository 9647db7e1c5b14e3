"""`manage.py ensure_admin`: create the first account. BENCHSITE_ADMIN names it,
BENCHSITE_ADMIN_PASSWORD is its password."""

import os

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

STANDARD_NAME = "admin"


class Command(BaseCommand):
    help = "Creates the administrator's account, or sets its password."

    def add_arguments(self, parser):
        parser.add_argument(
            "--only-if-missing", action="store_true", help="do not change an existing account"
        )

    def handle(self, *args, only_if_missing: bool, **options):
        name = os.environ.get("BENCHSITE_ADMIN") or STANDARD_NAME
        user = User.objects.filter(username=name).first()
        if user and only_if_missing:
            self.stdout.write(f"The account {name} already exists.")
            return
        password = os.environ.get("BENCHSITE_ADMIN_PASSWORD")
        if not password:
            raise CommandError(
                "No password given. Set BENCHSITE_ADMIN_PASSWORD to the account's password."
            )
        if settings.IS_SERVER:  # a local installation accepts any
            try:
                validate_password(password, User(username=name))
            except ValidationError as error:
                reasons = " ".join(error.messages)
                raise CommandError(f"BENCHSITE_ADMIN_PASSWORD: {reasons}") from None
        if user:
            user.set_password(password)
            user.save(update_fields=["password"])
            self.stdout.write(f"The password of {name} was changed.")
        else:
            User.objects.create_superuser(name, password=password)
            self.stdout.write(f"The account {name} was created.")
