"""`python -m workers.injector`: an order on standard input, or a URL on the command line."""

import sys


def main() -> int:
    # Somebody who types no address wants to be told what to type, not to write an order.
    if len(sys.argv) == 1 and not sys.stdin.isatty():
        from workers.injector import program

        return program.main()
    from workers.injector import cli

    return cli.main(sys.argv[1:])


sys.exit(main())
