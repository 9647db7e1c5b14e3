"""Sweeps in a few sentences: how throughput goes with the value, what is not known, and who is
faster than whom. And the matrix of several targets in one: in which order they come, and where.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from campaigns.domain.analysis.messages import sentence
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.plan.sweep import DIVIDED, at_point, point_phrase
from campaigns.domain.presentation.intervals import difference_words
from campaigns.domain.presentation.results import Sentence, SweepAnswer, joined
from campaigns.domain.presentation.sentences import gap_words
from campaigns.domain.presentation.sweep_table import PLATEAU, SweepPoint, end_of_growth
from campaigns.domain.presentation.target_matrix import SAME, MatrixRow, Neighbours, TargetMatrix
from campaigns.domain.units import and_joined, counted, number, rate

_MOST = 4  # arms in the sentence; the tables below have all


def sweep_sentence(sweeps: Sequence[SweepAnswer]) -> Sentence:
    """[] where no arm has two trusted points."""
    has_plans = len({each.plan_label for each in sweeps}) > 1
    told = [each for each in sweeps if end_of_growth(each.points)]
    if not told:
        return []
    said = [_clause(_name(sweep, has_plans), sweep) for sweep in told[:_MOST]]
    if len(told) > _MOST:
        said.append(sentence("sweep_more", sweeps=counted(len(told) - _MOST, "more sweeps")))
    untold = [_name(each, has_plans) for each in sweeps if each not in told]
    return joined([*said, *_against(sweeps), _too_few(untold), _unknown(sweeps)])


def _name(sweep: SweepAnswer, has_plans: bool) -> str:
    return ", ".join(filter(None, [sweep.plan_label * has_plans, sweep.name]))


def _clause(name: str, sweep: SweepAnswer) -> Sentence:
    point, has_ended = end_of_growth(sweep.points)
    trusted = [each for each in sweep.points if each.is_trusted and each.rate_per_s]
    first, last, field = trusted[0], trusted[-1], sweep.field
    falls_to = f"{rate(last.rate_per_s)} {at_point(field, last.value)}"
    if point is first and _is_lower(last, point):
        begin = f"{rate(first.rate_per_s)} requests/s"
        at = at_point(field, first.value)
        return sentence("sweep_falls", arm=name, first=begin, at=at, last=falls_to)
    if point is first:
        low, high = (point_phrase(field, each.value) for each in (first, last))
        return sentence("sweep_stays", arm=name, rates=_span(trusted), low=low, high=high)
    more = _times(sweep, point)
    if _is_lower(last, point):
        more += f", and falls to {falls_to}"
    return sentence(
        "sweep_grows" if has_ended else "sweep_still_grows",
        arm=name,
        value=point_phrase(field, point.value),
        at=at_point(field, point.value),
        rate=f"{rate(point.rate_per_s)} requests/s",
        more=more,
    )


def _is_lower(last: SweepPoint, point: SweepPoint) -> bool:
    return last.rate_per_s < PLATEAU * point.rate_per_s


def _span(trusted: Sequence[SweepPoint]) -> str:
    rates = [each.rate_per_s for each in trusted]
    low, high = rate(min(rates)), rate(max(rates))
    return f"at {low} requests/s" if low == high else f"between {low} and {high} requests/s"


def _times(sweep: SweepAnswer, point: SweepPoint) -> str:
    if sweep.field not in DIVIDED or not point.speed_up:
        return ""
    fewest = at_point(sweep.field, sweep.points[0].value)
    return f", {number(point.speed_up, 1)} times as much as {fewest}"


def _against(sweeps: Sequence[SweepAnswer]) -> Iterator[Sentence]:
    """nginx is faster than apache at 3 of 4 values, by 0.38 to 0.52 ms."""
    for sweep in [each for each in sweeps if each.reference][: _MOST - 1]:
        judged = [each.against for each in sweep.points if each.against and each.against.word]
        for word in (Word.FASTER, Word.SLOWER):
            rows = [each for each in judged if each.word == word]
            if rows:
                yield sentence(
                    "sweep_against",
                    arm=sweep.name,
                    word=word,
                    reference=sweep.reference,
                    n=len(rows),
                    values=counted(len(judged), "values"),
                    gap=gap_words(rows),
                )


def _too_few(names: Sequence[str]) -> Sentence:
    """What is missing of arms without two trusted points."""
    if not names:
        return []
    shown = names if len(names) <= _MOST else [*names[:_MOST], f"{len(names) - _MOST} more"]
    return sentence("sweep_too_few", arms=and_joined(shown))


def _unknown(sweeps: Sequence[SweepAnswer]) -> Sentence:
    """From where on no arm has a trusted point."""
    trusted = max(p.value for each in sweeps for p in each.points if p.is_trusted)
    if not any(p.value > trusted for each in sweeps for p in each.points):
        return []
    return sentence("sweep_unknown", value=point_phrase(sweeps[0].field, trusted))


def matrix_sentence(matrix: TargetMatrix, *, is_final: bool = True) -> Sentence:
    """Who is faster than whom, where and by how much; [] where no row can say it yet. Not final:
    of the rows that can."""
    # A plan that was measured in two places is named with the place.
    times = Counter(row.plan for row in matrix.rows)
    rows = [
        (f"{row.plan} ({row.place})" if times[row.plan] > 1 else row.plan, row)
        for row in matrix.rows
    ]
    orders: dict[str, dict[str, MatrixRow]] = {}
    for name, row in rows:
        if row.order:
            orders.setdefault(_order(row), {})[name] = row
    if not orders:
        return []
    unclear = orders.pop("", {})
    said = [sentence("orders_differ")] if len(orders) > 1 else []
    for order, found in orders.items():
        is_all = 2 < len(found) == len(rows) == len(times)
        at = f"all {len(rows)} plans" if is_all else and_joined(list(found))
        ahead = [each.row for row in found.values() for each in _steps(row)]
        gap = gap_words(ahead, or_more=any(each.or_more for each in ahead))
        said.append(sentence("order", order=order, plans=at, gap=gap))
    for code, alike in _unclear(unclear).items():
        said.append(sentence(code, plans=and_joined(list(alike)), such_as=_bounds(alike)))
    unknown = [name for name, row in rows if not row.order]
    if unknown and is_final:
        said.append(sentence("order_unknown", plans=and_joined(unknown)))
    return joined(said)


def _unclear(rows: Mapping[str, MatrixRow]) -> dict[str, dict[str, MatrixRow]]:
    """Rows in which nobody is clearly ahead, by the code of what is said of them."""
    found: dict[str, dict[str, MatrixRow]] = {}
    for name, row in rows.items():
        is_same = all(each.why == SAME for each in row.order)
        found.setdefault("order_same" if is_same else "order_open", {})[name] = row
    return found


def _bounds(rows: Mapping[str, MatrixRow]) -> str:
    """Those of the first pair, and what would settle it."""
    first = next(iter(rows.values())).order[0]
    interval = first.row.interval
    if interval is None:
        return ""
    _, ends = difference_words(Word.OPEN, interval.ratio, interval.low, interval.high)
    such_as = ", such as" if sum(len(row.order) for row in rows.values()) > 1 else ":"
    settle = "" if first.why == SAME else f". {first.why.removesuffix('.')}"
    return f"{such_as} {first.faster} against {first.slower}, {ends}{settle}"


def _has_many(row: MatrixRow) -> bool:
    return len(row.order) >= _MOST


def _steps(row: MatrixRow) -> list[Neighbours]:
    """The differences that its order tells."""
    steps = [each for each in row.order if not each.why]
    return steps[:1] if _has_many(row) else steps


def _order(row: MatrixRow) -> str:
    """nginx is faster than apache; nginx is the fastest, then apache and caddy; of many only who is
    the fastest. "" where nobody is clearly ahead."""
    groups = [[row.order[0].faster]]
    for each in row.order:
        if not each.why:
            groups.append([])
        groups[-1].append(each.slower)
    first, *others = map(and_joined, groups)
    if not others:
        return ""
    are = "is" if len(groups[0]) == 1 else "are"
    if len(row.order) == 1:
        return f"{first} is faster than {others[0]}"
    if _has_many(row):
        ahead = groups[0]
        first = f"{ahead[0]} and {len(ahead) - 1} more" if len(ahead) > 2 else first
        return f"{first} {are} the fastest of {len(row.order) + 1}"
    return f"{first} {are} the fastest, {', '.join(f'then {each}' for each in others)}"
