"""A target whose address was only tried: no list has it, until something is built on it."""

import pytest

from campaigns.domain.plan.curl import read_typed
from campaigns.domain.plan.questions import QUESTIONS
from campaigns.models import Probe, Target
from campaigns.models.dbtime import db_now
from campaigns.queries.campaigns import grid_of
from campaigns.queries.items import ItemFilter
from campaigns.queries.probes import list_targets
from campaigns.services.agents import add_exporter, create_agent
from campaigns.services.campaigns import CampaignCell
from campaigns.services.items import describe_item
from campaigns.services.targets import edit_target
from campaigns.services.typed_targets import cells_of_question, try_typed
from tests.factories import make_plan, make_target
from tests.services.engine import create
from workers.tasks.periodic import delete_old_rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def probe(project, as_bob):
    return try_typed(by=as_bob, project=project, request=read_typed("https://typo.example/"))


def is_listed(by, project) -> bool:
    listed = list_targets(by, project, ItemFilter()).exists()
    assert bool(grid_of(project).targets) == listed
    return listed


def test_no_list_and_no_grid_has_it_and_a_second_try_finds_it(probe, project, as_bob):
    assert not is_listed(as_bob, project)
    again = try_typed(by=as_bob, project=project, request=read_typed("https://typo.example/b"))
    assert again.endpoint == probe.endpoint


def plan_a_campaign(by, probe):
    project = probe.endpoint.target.project
    cell = CampaignCell(make_plan(project), probe.endpoint, "new")
    create(by, project, cells=[cell])


def ask_a_question(by, probe):
    step = {"method": "GET", "path": "/", "headers": [], "body": ""}
    cells_of_question(by=by, question=QUESTIONS["works"], step=step, probes=[probe])


def save_its_form(by, probe):
    target = probe.endpoint.target
    given = [endpoint.described().to_json() for endpoint in target.endpoints.all()]
    edit_target(by=by, target=target, name="shop", environment=[], endpoints=given)


def watch_its_machine(by, probe):
    create_agent(by=by, target=probe.endpoint.target)


def set_an_exporter(by, probe):
    url = "http://127.0.0.1:9100/metrics"
    fields = {"name": "shop", "url": url, "is_server": False, "verify_tls": True}
    add_exporter(by=by, target=probe.endpoint.target, **fields)


def rename_it(by, probe):
    describe_item(by=by, item=probe.endpoint.target, name="shop")


@pytest.mark.parametrize(
    "use",
    [
        plan_a_campaign,
        ask_a_question,
        save_its_form,
        watch_its_machine,
        set_an_exporter,
        rename_it,
    ],
)
def test_it_is_kept_by_what_is_built_on_it(probe, project, as_bob, use):
    use(as_bob, probe)
    assert is_listed(as_bob, project)


def test_it_takes_nobody_s_name(probe, project, as_bob):
    make_target(project, "typo.example")
    ask_a_question(as_bob, probe)
    assert {each.name for each in project.targets.all()} == {"typo.example", "typo.example (2)"}


def test_it_goes_a_week_after_it_was_tried_and_a_kept_one_stays(probe, project):
    kept = make_target(project)
    Target.objects.update(created_at=db_now(-8 * 24 * 3600))
    delete_old_rows()
    assert Target.objects.count() == 2
    Probe.objects.update(requested_at=db_now(-8 * 24 * 3600))
    delete_old_rows()
    assert list(Target.objects.all()) == [kept]
