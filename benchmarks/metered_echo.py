"""The demo target that prints its own CPU time, in seconds, at each SIGUSR1.

python -m benchmarks.metered_echo --http-port 8081 --https-port 8444 --cert-dir FOLDER
"""

import resource
import signal
import sys

import gevent

from workers.echo.__main__ import main


def _say() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, flush=True)


if __name__ == "__main__":
    gevent.signal_handler(signal.SIGUSR1, _say)
    sys.exit(main())
