import pytest

from campaigns.domain.measured.machine import AgentReport
from campaigns.domain.plan.plan import Plan
from campaigns.models import Endpoint
from campaigns.queries.machine_rules import machine_rule_checks
from campaigns.services.agents import create_agent, take_report
from tests.factories import make_endpoint, make_target
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
RULE = {"metric": "target_cpu", "limit": 80, "unit": "%"}


@pytest.fixture
def endpoint(project) -> Endpoint:
    return make_endpoint(make_target(project, "shop"))


def plan(*rules: dict) -> Plan:
    return Plan.from_json({**plan_spec(), "thresholds": list(rules)})


def said(*cells) -> list[tuple[str, str]]:
    return [(each.shape, each.text) for each in machine_rule_checks(cells)]


def test_a_target_that_nobody_watches_is_named_once(endpoint):
    ((shape, text),) = said((plan(RULE), endpoint), (plan(RULE), endpoint))
    assert (shape, "shop" in text) == ("warn", True)


def test_an_agent_that_reports_is_enough(endpoint, as_bob):
    agent, _ = create_agent(by=as_bob, target=endpoint.target)
    assert said((plan(RULE), endpoint))
    take_report(agent=agent, report=AgentReport.from_json({"host": "shop-1"}))
    assert said((plan(RULE), endpoint)) == []
