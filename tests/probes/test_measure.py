"""The pages from a typed address to a started campaign."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.core import queue
from campaigns.models import Campaign, Probe, Project, Search
from tests.factories import make_endpoint

pytestmark = pytest.mark.django_db
ADDRESS = "https://127.0.0.1:8444/prices"
OK = {
    "status": 200,
    "reason": "OK",
    "body_bytes": 2148,
    "parts_us": {"connect": 300, "tls": 900, "send": 20, "wait": 4000, "receive": 10},
    "response_us": 5230,
    "headers": [["Server", "x"]],
    "snippet": "hello",
    "certificates": [],
}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(queue, "send", lambda name, args: True)


@pytest.fixture
def try_(as_editor, project):
    """Types a text; the answers of HTTPS and of HTTP are stored; gives the page's address."""

    def type_and_answer(text=ADDRESS, https=OK, http=OK) -> str:
        answer = as_editor.post(reverse("project-measure", args=[project.pk]), {"what": text})
        assert answer.status_code == 302, answer.content
        for probe in Probe.objects.filter(finished_at=None):
            result = https if probe.endpoint.scheme == "https" else http
            if result is None:
                probe.endpoint.delete()
            else:
                Probe.objects.filter(pk=probe.pk).update(result=result, finished_at=timezone.now())
        return answer.url

    return type_and_answer


def text_of(client, address: str) -> str:
    return " ".join(client.get(address).content.decode().split())


def test_the_only_project_opens_by_itself(as_editor, project):
    answer = as_editor.get("/")
    assert answer.url == reverse("campaign-list", args=[project.pk])


def test_without_a_project_the_first_try_creates_one(client, charlie):
    client.force_login(charlie)
    assert 'name="what"' in text_of(client, "/")
    client.post(reverse("measure"), {"what": ADDRESS})
    assert Project.objects.get().targets.get().endpoints.count() == 2


@pytest.mark.parametrize("text", ["", "ftp://shop.lan/", "<script>alert(1)</script>"])
def test_an_error_keeps_what_was_typed(as_editor, project, text):
    answer = as_editor.post(reverse("project-measure", args=[project.pk]), {"what": text})
    assert answer.status_code == 422
    assert answer.context["text"] == text
    assert "<script>alert" not in answer.content.decode()
    assert not project.targets.exists()


def test_both_answers_are_shown_and_https_against_http_comes_first(as_editor, try_):
    page = text_of(as_editor, try_())
    assert "with the same 2,148 bytes." in page
    assert page.count("part-wait") >= 2
    assert 'button-primary" name="question" value="https"' in page
    assert "3,000 requests" in page


def test_without_http_only_what_can_be_asked_is_offered(as_editor, try_):
    page = text_of(as_editor, try_(http=None))
    assert 'value="https"' not in page
    assert 'button-primary" name="question" value="works"' in page


def test_a_question_starts_and_opens_its_campaign(as_editor, try_):
    address = try_()
    probe = Probe.objects.get(endpoint__scheme="https")
    answer = as_editor.post(address.partition("?")[0], {"question": "works", "probe": probe.pk})
    campaign = Campaign.objects.get()
    assert answer.url == reverse("campaign-detail", args=[campaign.pk])
    assert campaign.started_at
    assert campaign.tests.count() == 2


def test_how_much_it_can_take_opens_its_form_filled_in_and_one_click_starts_it(as_editor, try_):
    address = try_()
    probe = Probe.objects.get(endpoint__scheme="https")
    fields = {"question": "limit", "probe": probe.pk}
    form_page = as_editor.post(address.partition("?")[0], fields).url
    assert not Campaign.objects.exists()
    filled_in = as_editor.get(form_page).context["form"].initial
    assert (filled_in["objective"], filled_in["start_per_s"]) == ("p95 < 100 ms, errors < 1 %", 20)
    answer = as_editor.post(
        form_page, {"trial_s": 20, "longest_min": 60, "injectors": 1} | filled_in
    )
    search = Search.objects.get()
    assert answer.url == reverse("campaign-detail", args=[search.pk])
    test = search.campaign.tests.get()
    assert (str(test.endpoint), test.connection_mode) == ("https://127.0.0.1:8444", "keep-alive")
    assert test.plan_version.value().steps[0].path == "/prices"


def test_a_password_is_never_shown_again(as_editor, try_, project):
    address = try_("curl -u ann:s3cret https://127.0.0.1:8444/")
    pages = [address, reverse("target-detail", args=[project.targets.get().pk])]
    pages += [reverse("probe-detail", args=[probe.pk]) for probe in Probe.objects.all()]
    pages += [reverse("plan-detail", args=[plan.pk]) for plan in project.plans.all()]
    for page in pages:
        assert "s3cret" not in text_of(as_editor, page)


def test_the_other_url_is_added_on_the_way_and_its_question_shows_at_once(as_editor, try_):
    address = try_("https://127.0.0.1:8131/", http=None)
    page = address.partition("?")[0]
    probe = Probe.objects.get()
    as_editor.post(page, {"probe": probe.pk, "other": "http://127.0.0.2:8130/"})
    assert Probe.objects.count() == 1, "another host is another target"
    for _ in range(2):  # two clicks
        as_editor.post(page, {"probe": probe.pk, "other": "http://127.0.0.1:8130"})
    Probe.objects.filter(finished_at=None).update(result=OK, finished_at=timezone.now())
    assert 'value="https"' in text_of(as_editor, address)


def test_an_endpoint_added_by_the_form_of_the_target_is_tried_at_once(as_editor, try_):
    address = try_("https://127.0.0.1:8131/", http=None)
    target = Probe.objects.get().endpoint.target
    rows = {"scheme": ["https", "http"], "host": ["127.0.0.1"] * 2, "port": ["8131", "8130"]}
    page = reverse("target-edit", args=[target.pk])
    token = as_editor.get(page).context["edit"].opened
    as_editor.post(page, {"name": target.name, "opened": token, **rows})
    Probe.objects.filter(finished_at=None).update(result=OK, finished_at=timezone.now())
    assert 'value="https"' in text_of(as_editor, address)


def test_an_endpoint_that_was_added_since_is_named_and_tried_by_one_click(as_editor, try_):
    address = try_(http=None)
    probe = Probe.objects.get()
    make_endpoint(probe.endpoint.target, "http", 8080, host=probe.endpoint.host)
    page = text_of(as_editor, address)
    assert "has not been tried yet" in page
    assert "Nothing answers over HTTP" not in page
    text = re.findall('name="what" value="(.+?)"', page)[0]
    again = as_editor.post(
        reverse("project-measure", args=[probe.endpoint.target.project_id]), {"what": text}
    ).url
    Probe.objects.filter(finished_at=None).update(result=OK, finished_at=timezone.now())
    page = text_of(as_editor, again)
    assert "has not been tried yet" not in page
    assert "What does HTTPS cost?" in page


def test_what_was_pasted_with_its_redirects_is_measured_with_them(as_editor, project, try_):
    page = try_(f"curl -L {ADDRESS}")
    redirects = {probe.endpoint.scheme: probe.request["redirects"] for probe in Probe.objects.all()}
    assert redirects == {"https": "all", "http": "same_origin"}
    as_editor.post(page, {"question": "works"})
    plans = [test.plan() for test in Campaign.objects.get().tests.all()]
    assert {str(plan.redirects) for plan in plans} == {"all"}
