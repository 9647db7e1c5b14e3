"""The program: python -m workers.agent --url https://bench.example.org --watch nginx

Its token is in BENCHSITE_AGENT_TOKEN. It samples on the whole seconds of the site's clock, and a
thread of its own sends; while the site is away, an hour is kept.
"""

import argparse
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from workers.agent.machine import Processes, Sampler
from workers.agent.perf import PerfStat
from workers.agent.profile import PerfRecord
from workers.agent.site import Outbox, SiteClient, SiteClock, TokenRefused, boot_ns, say

SEND_EVERY_S = 2.0
MOST_PAUSE_S = 15.0
NICENESS = 10  # the server that is measured goes first; what was sampled late says how long it was
HELLOS = 4  # empty requests at the start, to know the site's clock
# What the site takes; it refuses a report with more, and all figures of the machine with it.
MOST_WATCHED, LONGEST_WATCHED = 20, 100
_WATCHED = re.compile(r":\d{1,5}|pid:\d+|[^:,]+")


def watch(
    sampler: Sampler,
    perf: PerfStat,
    profile: PerfRecord,
    outbox: Outbox,
    clock: SiteClock,
    stop: threading.Event,
) -> None:
    """Sample at each whole second of the site's clock until `stop`."""
    sampler.take(boot_ns())
    while not stop.wait(clock.to_next_second_s()):
        now_ns = boot_ns()
        for seen in perf.take(sampler.take(now_ns), now_ns):
            outbox.add(seen)
        profile.keep(now_ns)
    perf.end()
    profile.end()


def keep_sending(outbox: Outbox, stop: threading.Event, refusals: list[str]) -> None:
    """Send every few seconds, more rarely while the site is away; once more at the end."""
    pause_s = SEND_EVERY_S
    try:
        while not stop.wait(pause_s):
            outbox.send_all()
            pause_s = min(MOST_PAUSE_S, pause_s * 2) if outbox.is_away else SEND_EVERY_S
        outbox.send_all()
    except TokenRefused as refusal:
        refusals.append(str(refusal))
        stop.set()


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("agent.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("--url", required=True, help="the benchsite: https://bench.example.org")
    token = os.environ.get("BENCHSITE_AGENT_TOKEN")
    parser.add_argument("--token", default=token, help="default: BENCHSITE_AGENT_TOKEN")
    parser.add_argument(
        "--watch",
        action="append",
        default=[],
        help="processes: nginx, :8080 (a port), pid:1234, or several with commas between",
    )
    parser.add_argument("--ca-file", help="certificates to trust, if the site's is your own")
    asked = parser.parse_args(words)
    if not asked.token:
        parser.error("There is no token. Set BENCHSITE_AGENT_TOKEN, or use --token.")
    for name in asked.watch:
        if not all(_WATCHED.fullmatch(each) for each in name.split(",")):
            parser.error(f"Cannot watch {name}. Write a name, :PORT or pid:NUMBER.")
    return asked


def that_fit(watched: Sequence[str]) -> list[str]:
    """Those that the site takes. Says once which it does not, and what to do."""
    fitting = [name for name in watched if len(name) <= LONGEST_WATCHED][:MOST_WATCHED]
    if left_out := [name for name in watched if name not in fitting]:
        say(
            f"Not watched: {'; '.join(left_out)}. The site takes {MOST_WATCHED} --watch of at "
            f"most {LONGEST_WATCHED} characters each. Join processes that may count together, as "
            "in --watch nginx,php-fpm; split what is too long. All else is reported."
        )
    return fitting


def main(words: Sequence[str] | None = None) -> int:
    asked = arguments(words)
    os.nice(NICENESS)
    clock, stop, refusals = SiteClock(), threading.Event(), []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    watched = that_fit(asked.watch)
    about = {"host": socket.gethostname()[:100], "watched": watched}
    processes = Processes(watched)
    perf = PerfStat(processes)
    post = SiteClient(asked.url, asked.token, asked.ca_file).post
    outbox = Outbox(post, clock, about, lambda answer: obey(answer))
    profile = PerfRecord(processes, outbox.add_profile)

    def obey(answer: Mapping[str, Any]) -> None:
        perf.obey(answer)
        profile.obey(answer)

    try:
        for _ in range(HELLOS):
            if not outbox.says_hello():
                break
    except TokenRefused as refusal:
        refusals.append(str(refusal))
        stop.set()
    sender = threading.Thread(target=keep_sending, args=(outbox, stop, refusals), daemon=True)
    sender.start()
    if not stop.is_set():
        say(f"Watching {about['host']} for {asked.url}. Ctrl-C ends it.")
        watch(Sampler(processes), perf, profile, outbox, clock, stop)
    sender.join(15)
    if refusals:
        say(f"The site refuses this token: {refusals[0]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
