"""`make check-api`: Schemathesis holds the API to its schema, at a site that it has for itself.

The site has a web process and no worker, so nothing is ever sent to a target.
"""

import http.client
import json
import sys
from pathlib import Path

from local import programs
from local.children import Program
from local.console import LocalError, fail, step
from local.paths import tail
from local.ports import LOOPBACK, free_ports
from local.supervisor import StopRequested, Supervisor
from local.throw_away import throw_away_servers

READY_S = 180.0
# The first description of the API takes a crowded machine more than Schemathesis's own 10 s.
ANSWER_S = 60.0
SCHEMA = "/api/v1/schema/"
# Random cases for each operation, beside those of the edges of its schema.
EXAMPLES = 8
# Plans have rules between their fields that no schema can say. tests/test_access_of_rest.py asks at
# each address without a live token: more than a few wrong ones a minute are throttled.
NOT_CHECKED = "positive_data_acceptance,ignored_auth"


def check_api(arguments: list[str]) -> int:
    """0 if no answer contradicts the schema; `arguments` are Schemathesis's own."""
    try:
        with throw_away_servers() as (supervisor, env):
            port = free_ports().web
            env |= {"BENCHSITE_BIND": f"{LOOPBACK}:{port}", "BENCHSITE_LOG_LEVEL": "ERROR"}
            env |= {"BENCHSITE_WEB_WORKERS": "1"}  # each describes the API for itself
            folder = Path(env["BENCHSITE_VAR"])
            with step("Migrating, filling and serving a temporary database"):
                _run(supervisor, programs.manage("migrate", "--no-input", "-v", "0", env=env))
                world = _run(supervisor, _python("fill", "tests.api_world", env=env))
                supervisor.start(_web(env))
                supervisor.wait_until(lambda: _answers(port), READY_S, "web")
            config = folder / "schemathesis.toml"
            config.write_text(_config(json.loads(world.splitlines()[-1])))
            tried = _python(
                "schemathesis",
                "schemathesis.cli",
                *("--config-file", str(config), "run", f"http://{LOOPBACK}:{port}{SCHEMA}"),
                *("--max-examples", str(EXAMPLES), "--exclude-checks", NOT_CHECKED),
                *("--request-timeout", str(ANSWER_S)),
                *("--seed", "1", "--generation-database", "none", "--no-color", *arguments),
                env=env,
            )
            return supervisor.run_to_end(tried, log=None)
    except LocalError as error:
        return fail(str(error))
    except StopRequested:
        return 130


def _config(world: dict) -> str:
    """Who asks, and about which rows: TOML reads JSON's strings and numbers."""
    lines = [f'headers = {{ Authorization = "Bearer {world["token"]}" }}']
    lines += ["[phases.stateful]", "enabled = false"]
    refused = ("400", "401", "403", "404", "405", "406", "409", "412", "413", "414", "415", "429")
    lines += ["[checks.negative_data_rejection]", f"expected-statuses = {json.dumps(refused)}"]
    for each in world["operations"]:
        values = ", ".join(f'"path.{name}" = {value}' for name, value in each["values"].items())
        lines += ["[[operations]]", f"include-name = {json.dumps(each['name'])}"]
        lines += [f"parameters = {{ {values} }}"]
    return "\n".join(lines)


def _run(supervisor: Supervisor, program: Program) -> str:
    log = supervisor.log_dir / f"{program.name}.log"
    if supervisor.run_to_end(program, log):
        raise LocalError(f"{program.name} failed:\n{tail(log)}")
    return log.read_text()


def _python(name: str, module: str, *arguments: str, env: dict[str, str]) -> Program:
    return Program(name=name, command=(sys.executable, "-m", module, *arguments), env=env)


def _web(env: dict[str, str]) -> Program:
    return next(each for each in programs.programs(env, gives_way=False) if each.name == "web")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_S)
    try:
        connection.request("GET", SCHEMA)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
