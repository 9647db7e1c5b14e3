"""`manage.py sample`: load the stored sample, run another here, wait for its end and print its
tables."""

import time

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count, Q
from django.urls import reverse

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.services.campaigns import start_campaign
from campaigns.core.permissions import Actor
from campaigns.core.tables import text_of_tables
from campaigns.domain.errors import BenchsiteError
from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.presentation.sentences import plain_text
from campaigns.management.stored_sample import freeze_sample, load_sample
from campaigns.management.study import latest_sample, make_sample
from campaigns.models import Campaign, Run
from campaigns.operations.queries.load_control import why_load_is_off
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.probes.services.probes import try_again
from campaigns.runs.queries.measurements import summary_of

POLL_S = 0.5
NEWS_S = 10.0


class Command(BaseCommand):
    help = "Runs the sample campaign on the bundled demo target."

    def add_arguments(self, parser):
        parser.add_argument("--wait", action="store_true", help="wait, then print the tables")
        parser.add_argument(
            "--unless-done", action="store_true", help="do nothing if a sample has already finished"
        )
        parser.add_argument(
            "--freeze", type=int, metavar="CAMPAIGN", help="make this campaign the stored sample"
        )
        parser.add_argument("--by", default="", help="the account that owns it")
        parser.add_argument("--http-port", type=int, default=8081)
        parser.add_argument("--https-port", type=int, default=8444)
        parser.add_argument(
            "--timeout",
            type=float,
            default=300.0,
            help="longest time to wait for the next run's end, seconds",
        )

    def handle(self, *args, **options):
        try:
            self._run(_owner(options["by"]), options)
        except BenchsiteError as error:
            raise CommandError(str(error)) from None

    def _run(self, by: Actor, options: dict) -> None:
        if options["freeze"]:
            freeze_sample(Campaign.objects.visible_to(by).get(pk=options["freeze"]))
            return
        if latest_sample(by) is None:  # who deleted it does not get it again
            load_sample(by)
        campaign = latest_sample(by) if options["unless_done"] else None
        if campaign and campaign.finished_at:
            return
        if campaign is None:
            campaign = make_sample(by, options["http_port"], options["https_port"])
            start_campaign(by=by, campaign=campaign)
        elif campaign.is_held:
            try_again(by=by, campaign=campaign)
            campaign.refresh_from_db()
        self.stdout.write(f"Sample campaign, live at {_address(campaign)}")
        if options["wait"]:
            self._wait(campaign, options["timeout"])
            self._print_answer(campaign)
            # Raises CommandError with the reasons of the runs that did not end as planned.
            bad = campaign.runs.exclude(Q(state=RunState.DONE) & Q(outcome=Outcome.COMPLETE))
            sentences = [
                f"Run {run.label} ended {run.outcome}: {run.reason or 'no reason'}" for run in bad
            ]
            sentences += [sentence for run in campaign.runs.all() if (sentence := _errors_of(run))]
            if sentences:
                raise CommandError("The sample failed.\n  " + "\n  ".join(sentences))

    def _wait(self, campaign: Campaign, longest_s: float) -> None:
        """On a crowded machine the whole takes long, but each of its runs comes to an end."""
        news_at, until, n_done = time.monotonic(), time.monotonic() + longest_s, 0
        while campaign.finished_at is None:
            if campaign.is_held:
                back = first_requests_of(campaign)
                to_do = next((each.what_to_do for each in back.wrong), "")
                raise CommandError(f"The sample is on hold: {back.failure}. {to_do}")
            if why := why_load_is_off():
                place = settings.SITE_URL + reverse("load")
                raise CommandError(
                    f"The sample waits, because load is off. {why} Allow load at {place}"
                )
            if time.monotonic() >= news_at:
                # Also how many runs are done.
                done = campaign.runs.filter(state=RunState.DONE).count()
                self.stdout.write(f"  {done} of {campaign.runs.count()} runs done")
                if done > n_done:
                    n_done, until = done, time.monotonic() + longest_s
                news_at += NEWS_S
            if time.monotonic() > until:
                raise CommandError(_why_late(campaign, longest_s))
            time.sleep(POLL_S)
            campaign.refresh_from_db()

    def _print_answer(self, campaign: Campaign) -> None:
        answer = campaign_answer(campaign)
        tables = [each.table for each in (*answer.tests, *answer.overheads)]
        self.stdout.write("\n" + plain_text(answer.sentence))
        answers = [f"{each.question} {each.word}. {each.reason}" for each in answer.answers]
        self.stdout.write("\n".join([*answer.grounds, *answer.caveats, *answers]) + "\n")
        self.stdout.write(text_of_tables(tables))
        self.stdout.write(f"Results with charts: {_address(campaign)}")


def _owner(name: str) -> Actor:
    """The named account, or the first administrator."""
    users = User.objects.filter(is_active=True)
    user = (
        users.filter(username=name).first()
        if name
        else users.filter(is_superuser=True).order_by("pk").first()
    )
    if user is None:
        raise CommandError("There is no such account. Create one with `manage.py ensure_admin`.")
    return Actor(user=user)


def _address(campaign: Campaign) -> str:
    return settings.SITE_URL + reverse("campaign-detail", args=[campaign.pk])


def _why_late(campaign: Campaign, waited_s: float) -> str:
    states = campaign.runs.values_list("state").annotate(n=Count("pk")).order_by("state")
    counted = ", ".join(f"{n} {state}" for state, n in states)
    return (
        f"No run of the sample has ended for {waited_s:g} s (runs: {counted}). Check that a "
        "launcher and a dispatcher are running; their logs say what is wrong."
    )


def _errors_of(run: Run) -> str:
    summary = summary_of(run)
    errors = summary.figures["errors"] if summary else {}
    if not errors:
        return ""
    counted = ", ".join(f"{n} {kind}" for kind, n in errors.items())
    return f"Run {run.label} has failed requests: {counted}."
