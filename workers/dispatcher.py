"""The dispatcher's program: moves runs from state to state.

    python -m workers.dispatcher

The one that holds a lock in PostgreSQL is active; others wait to take over. No rule keeps
state in memory: after a kill and restart it continues from the rows.
"""

import gc
import os
import signal
import threading

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    from workers.dispatching import Dispatcher

    # Leave alone what has been loaded, and look less often: all values of a campaign's end are
    # needed until it is done. Otherwise the collector looks through them many times meanwhile, a
    # quarter of the time of 2,000 runs that are judged.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    shutdown = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: shutdown.set())
    Dispatcher(shutdown).run()


if __name__ == "__main__":
    main()
