"""The dispatcher's program: moves runs from state to state.

    python -m workers.dispatcher

The one that holds a lock in PostgreSQL is active; others wait to take over. It keeps no state in
memory: after a kill and restart it continues from the rows.
"""

import os
import signal
import threading

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    from workers.collector import collect_seldom
    from workers.dispatching import Dispatcher

    collect_seldom()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    Dispatcher(ended).run()


if __name__ == "__main__":
    main()
