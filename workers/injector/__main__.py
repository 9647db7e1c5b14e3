"""`python -m workers.injector`: an order on standard input, or a URL on the command line."""

import sys


def main() -> int:
    if len(sys.argv) == 1:
        from workers.injector import program

        return program.main()
    from workers.injector import cli

    return cli.main(sys.argv[1:])


sys.exit(main())
