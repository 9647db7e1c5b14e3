"""`python -m tests.api_world`: fill an empty database for `make check-api`.

The last line says as JSON whose token opens it, and which rows each operation can be tried on.
"""

import json
import re

import django


def main() -> None:
    django.setup()
    from django.db import transaction

    from tests.access_probes import ROUTES, parameters_of
    from tests.access_table import API
    from tests.access_world import make_world

    with transaction.atomic():
        world = make_world()
    operations = []
    for name, methods in API.items():
        path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", ROUTES[name]).replace("{pk}", "{id}")
        for method, rule in methods.items():
            named = parameters_of(name, world, rule, world.rows)
            values = {"id" if key == "pk" else key: int(value) for key, value in named.items()}
            # What is deleted could not be tried any more.
            if values and method != "DELETE":
                operations.append({"name": f"{method} {path}", "values": values})
    token = world.tokens["alice's write token"]
    print(json.dumps({"token": token, "operations": operations}))


if __name__ == "__main__":
    main()
