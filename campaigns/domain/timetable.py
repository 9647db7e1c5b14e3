"""When a schedule is due: a cron expression, read in a time zone as Debian's cron does. A time that
a change of clocks skips is due right after it, and one that comes twice is due once."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from campaigns.domain.errors import InvalidFields

LONGEST_CRON = 100
# Of times that were missed; with more the figure is this one.
MOST_MISSED = 1000

DAYS = {
    "day": "* * *",
    "weekday": "* * 1-5",
    "Monday": "* * 1",
    "Tuesday": "* * 2",
    "Wednesday": "* * 3",
    "Thursday": "* * 4",
    "Friday": "* * 5",
    "Saturday": "* * 6",
    "Sunday": "* * 0",
    "first of the month": "1 * *",
}


def daily_cron(days: str, hour: int, minute: int) -> str:
    """`days`: a key of DAYS."""
    return f"{minute} {hour} {DAYS[days]}"


def read_daily(cron: str) -> tuple[str, str] | None:
    """(key of DAYS, "02:00") of what `daily_cron` wrote; None of any other expression."""
    minute, hour, *rest = cron.split()
    days = next((key for key, each in DAYS.items() if each == " ".join(rest)), None)
    if days is None or not (minute.isdigit() and hour.isdigit()):
        return None
    return days, f"{int(hour):02}:{int(minute):02}"


@dataclass(frozen=True, slots=True)
class Timetable:
    """All moments are aware; those that it answers are in its own zone."""

    cron: str
    zone: str

    @classmethod
    def read(cls, cron: str, zone: str) -> "Timetable":
        """Raises InvalidFields."""
        errors = {}
        if zone not in available_timezones():
            errors["zone"] = "Choose a time zone by its name, such as Europe/Paris."
        timetable = cls(" ".join(cron.split()), "UTC" if errors else zone)
        if len(timetable.cron) > LONGEST_CRON or len(timetable.cron.split()) != 5:
            errors["cron"] = "Write five fields: minute, hour, day of month, month, day of week."
        else:
            try:
                next(timetable.after(datetime.now(ZoneInfo("UTC"))))
            except CronSimError:
                errors["cron"] = "Write a cron expression such as 0 2 * * 1-5."
            except StopIteration:
                errors["cron"] = "No day is like this. Choose another day of the month."
        if errors:
            raise InvalidFields(errors)
        return timetable

    @property
    def words(self) -> str:
        """Such as "At 02:00 on Monday"."""
        return CronSim(self.cron, datetime.now(ZoneInfo("UTC"))).explain()

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Each time that it is due, from the first one after the moment on."""
        return CronSim(self.cron, moment.astimezone(ZoneInfo(self.zone)))

    def first_after(self, moment: datetime, n: int) -> list[datetime]:
        return list(islice(self.after(moment), n))

    def latest(self, since: datetime, until: datetime) -> tuple[datetime, int]:
        """(the last time that it was due from `since`, which is one, `until` then; how many it was
        due before that, at most MOST_MISSED)."""
        times = islice(takewhile(lambda each: each <= until, self.after(since)), MOST_MISSED)
        later = list(times)
        return (later[-1], len(later)) if later else (since, 0)
