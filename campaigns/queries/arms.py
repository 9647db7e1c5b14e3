"""A campaign's tests with their runs, and the labels that tell them apart."""

from collections.abc import Mapping, Sequence

from campaigns.domain.measured.redaction import without_addresses
from campaigns.domain.shown.sentences import MODES
from campaigns.domain.shown.sweep_table import injector_words
from campaigns.models import Campaign, Endpoint, PooledPercentiles, Test
from campaigns.queries.arm_pairs import MeasuredTest
from campaigns.queries.measured import MeasuredRun


def measured_tests(
    tests: Sequence[Test],
    runs: Sequence[MeasuredRun],
    kept: Mapping[int, PooledPercentiles] | None = None,
) -> list[MeasuredTest]:
    """Each test with its own of the runs, what is `kept` of them together, and the labels that tell
    it apart from the others."""
    by_test: dict[int, list[MeasuredRun]] = {test.pk: [] for test in tests}
    for each in runs:
        if each.run.test_id in by_test:
            by_test[each.run.test_id].append(each)
    numbers = {test.plan_version.plan_id: set() for test in tests}
    for test in tests:
        numbers[test.plan_version.plan_id].add(test.plan_version.number)
    targets = {test.endpoint.target_id for test in tests}
    counts = {test.injectors for test in tests}
    places = {(test.endpoint.target_id, test.endpoint.scheme) for test in tests}
    addresses = _addresses({test.endpoint for test in tests}, n_told_apart=len(places))
    found = []
    for test in tests:
        place = [
            test.endpoint.target.name if len(targets) > 1 else "",
            addresses.get(test.endpoint_id, ""),
        ]
        value = [injector_words(test.injectors) if len(counts) > 1 else "", test.swept_words]
        found.append(
            MeasuredTest(
                test,
                _joined(arm_words(test), *place, test.endpoint.tls_profile, *value),
                _plan_label(test, names_version=len(numbers[test.plan_version.plan_id]) > 1),
                tuple(sorted(by_test[test.pk], key=lambda each: each.run.repeat)),
                kept=(kept or {}).get(test.pk),
                place=_joined(*place, *value),
            )
        )
    return found


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def hide_hosts(tests: Sequence[Test]) -> None:
    """From a reader who may not see machines: numbers tell these tests' hosts apart as well."""
    hosts = list(dict.fromkeys(test.endpoint.host for test in tests))
    for test in tests:
        test.endpoint.hidden_host = f"host {hosts.index(test.endpoint.host) + 1}"


def stop_reason_of(campaign: Campaign, *, shows_machines: bool) -> str:
    """Why it stopped by itself, as the reader may know it: a first request that failed is told with
    its address."""
    if shows_machines or not campaign.stop_reason:
        return campaign.stop_reason
    hosts = campaign.tests.order_by().values_list("endpoint__host", flat=True).distinct()
    return without_addresses(campaign.stop_reason, *hosts)


def _addresses(endpoints: set[Endpoint], *, n_told_apart: int) -> dict[int, str]:
    """What tells endpoints apart that target and scheme do not: ":8443", "10.0.0.2:8443"."""
    if len({(each.target_id, each.origin) for each in endpoints}) == n_told_apart:
        return {}
    one_host = len({each.host for each in endpoints}) == 1
    return {each.pk: f"{'' if one_host else each.told_host}:{each.port}" for each in endpoints}


def _plan_label(test, *, names_version: bool) -> str:
    return str(test.plan_version) if names_version else test.plan_version.plan.name


def arm_words(test: Test) -> str:
    return f"{test.endpoint.scheme.upper()} {MODES[test.connection_mode]}"
