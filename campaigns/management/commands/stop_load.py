"""`manage.py stop_load`: stop every run of the installation and admit no other."""

from django.core.management.base import BaseCommand

from campaigns.domain.units import counted
from campaigns.operations.services.load_control import (
    allow_load_from_console,
    drain_from_console,
    stop_all_load_from_console,
)


class Command(BaseCommand):
    help = "Stops all load and keeps it off until an administrator allows it again."

    def add_arguments(self, parser):
        instead = parser.add_mutually_exclusive_group()
        instead.add_argument(
            "--drain",
            action="store_true",
            help="only begin no other run: active ones end as planned, queued ones wait",
        )
        instead.add_argument(
            "--undo", action="store_true", help="allow load again; queued runs begin"
        )

    def handle(self, *args, undo: bool, drain: bool, **options):
        if undo:
            allow_load_from_console()
            self.stdout.write("Load control: enabled. Queued runs start now.")
            return
        if drain:
            text = counted(drain_from_console(), "active runs")
            self.stdout.write(f"No run begins any more; {text} to go. Allow load with --undo.")
            return
        n_stopped = stop_all_load_from_console()
        self.stdout.write(
            f"Load is off. {counted(n_stopped, 'active runs')} told to stop. "
            "`manage.py stop_load --undo`, or the page Load of all projects, allows it."
        )
