"""`python -m tests.api_world FILE`: fill an empty database for `make check-api`, and write the
configuration of Schemathesis: whose token opens it, and which rows each operation is tried on.
"""

import json
import re
import sys
from pathlib import Path

import django

REFUSALS = ("400", "401", "403", "404", "405", "406", "409", "412", "413", "414", "415", "429")
CONFIGURATION = """\
headers = {{ Authorization = "Bearer {token}" }}
[phases.stateful]
enabled = false
[checks.negative_data_rejection]
expected-statuses = {refusals}
"""
OPERATION = """\
[[operations]]
include-name = {name}
parameters = {{ {values} }}
"""


def main() -> None:
    django.setup()
    from django.db import transaction

    from tests.access_probes import ROUTES, parameters_of
    from tests.access_table import API
    from tests.access_world import make_world

    with transaction.atomic():
        world = make_world()
    token = world.tokens["alice's write token"]
    # TOML reads JSON's strings and numbers.
    text = CONFIGURATION.format(token=token, refusals=json.dumps(REFUSALS))
    for name, methods in API.items():
        path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", ROUTES[name]).replace("{pk}", "{id}")
        for method, rule in methods.items():
            parameters = parameters_of(name, world, rule, world.rows)
            values = {"id" if key == "pk" else key: int(value) for key, value in parameters.items()}
            # What is deleted could not be tried any more.
            if values and method != "DELETE":
                rows = ", ".join(f'"path.{key}" = {value}' for key, value in values.items())
                text += OPERATION.format(name=json.dumps(f"{method} {path}"), values=rows)
    Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    main()
