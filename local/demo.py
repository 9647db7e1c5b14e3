"""`make demo-target`: the bundled HTTP and HTTPS target alone, until Ctrl-C."""

from local import programs
from local.console import LocalError, fail, say
from local.paths import var_dir
from local.ports import LOOPBACK, Ports, ports_from_environment, refuse_taken
from local.supervisor import StopRequested, Supervisor


def demo_target() -> int:
    try:
        ports = ports_from_environment()
        # Only its own two ports matter: the web server may be running too.
        refuse_taken(Ports(0, ports.demo_http, ports.demo_https), "make demo-target")
    except LocalError as error:
        return fail(str(error))
    var = var_dir()
    supervisor = Supervisor(var / "log")
    supervisor.stop_on_signals()
    supervisor.start(programs.demo(programs.plain_environment(), ports, var))
    say(f"http://{LOOPBACK}:{ports.demo_http}/ and https://{LOOPBACK}:{ports.demo_https}/")
    say("Press Ctrl-C to stop both.")
    try:
        while True:
            supervisor.wait(3600)
    except StopRequested:
        return 0
    finally:
        supervisor.stop_all()
