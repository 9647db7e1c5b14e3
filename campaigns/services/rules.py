"""How the dispatcher's rules find the runs that they move, and move them."""

import logging
from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.db.models import QuerySet, Value

from campaigns.models import Run
from campaigns.queries.injector_hosts import Compiled

logger = logging.getLogger(__name__)

Act = Callable[[Run], bool]


class Rule(NamedTuple):
    """`runs`: those that it moves. `act` moves one of them, under its lock; whether it did."""

    runs: QuerySet[Run]
    act: Act


Rules = Callable[[], tuple[Rule, ...]]


def apply(rules: Rules, most: int) -> int:
    """Move what the rules find, the first rule's runs first, at most so many of each; how many were
    moved. All are found in one statement, which is the same at each call."""
    made, n_moved = rules(), 0
    for number, pk in sorted(_due_runs(rules, most).rows(), key=itemgetter(0)):
        n_moved += move(made[number].runs, pk, made[number].act)
    return n_moved


def move(runs: QuerySet[Run], pk: int, act: Act) -> bool:
    """Whether the run was moved; one that PostgreSQL refuses to move is left as it is, so that a
    failure with one does not affect the others."""
    try:
        return _locked(runs, pk, act)
    except (OperationalError, InterfaceError):
        raise
    except DatabaseError:
        logger.exception("Run %s was left as it is", pk)
        return False


@cache
def _due_runs(rules: Rules, most: int) -> Compiled:
    """(number of the rule, run), of each rule its oldest runs."""
    first, *others = (
        rule.runs.order_by("state_at", "pk").values_list(Value(number), "pk")[:most]
        for number, rule in enumerate(rules())
    )
    return Compiled(first.union(*others, all=True))


@transaction.atomic
def _locked(runs: QuerySet[Run], pk: int, act: Act) -> bool:
    """Re-checks the conditions under the lock: the run may have changed meanwhile."""
    locked = runs.filter(pk=pk).select_for_update(no_key=True, of=("self",)).order_by("pk")
    run = locked.defer("snapshot").first()
    return run is not None and act(run)
