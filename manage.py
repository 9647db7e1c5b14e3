#!/usr/bin/env python
"""Django's command line."""

import os
import sys

from django.core.management import execute_from_command_line
from django.db import OperationalError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        words = " ".join(str(error).split())
        sys.exit(f"PostgreSQL did not answer or refused, see DATABASE_URL: {words}")
