"""`python -m workers.injector`: takes an order on standard input, or a URL on the command line."""

import signal
import sys

import gevent


def main() -> int:
    # An error that nobody handles ends the process, or a part of the load would be missing unsaid.
    gevent.get_hub().SYSTEM_ERROR = Exception
    # A person who types no address needs the usage message, not a program waiting for an order.
    if len(sys.argv) == 1 and not sys.stdin.isatty():
        from workers.injector import program

        return program.main()
    # Until there is something to report, which the run itself sees to, Ctrl-C just ends it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from workers.injector import cli

    return cli.main(sys.argv[1:])


sys.exit(main())
