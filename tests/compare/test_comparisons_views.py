"""The page that compares campaigns, tests or runs."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.metrics.profiles import read_profile
from campaigns.domain.presentation import compared
from campaigns.models import Campaign, RunProfile
from tests.factories import just_now, make_campaign, make_project, make_run, make_test
from tests.kept_cast import project as project
from tests.kept_cast import vera as vera
from tests.measured import https_campaign, measure, run_in_blocks, same_again

pytestmark = pytest.mark.django_db
FAST, SLOW = [10_000, 10_100, 9_900], [11_200, 11_250, 11_180]


@pytest.fixture
def as_vera(client, vera):
    client.force_login(vera)
    return client


@pytest.fixture
def pair(project):
    """Two runs of one campaign."""
    _, tests = https_campaign(project, repeats=1)
    return run_in_blocks(tests, [[12_000], [24_000]])


@pytest.fixture(scope="module")
def weeks_of_the_file(project_of_the_file):
    _, earlier = https_campaign(project_of_the_file)
    later = same_again(earlier, name="Nightly 2")
    run_in_blocks(earlier, [FAST, FAST])
    run_in_blocks(later, [SLOW, FAST])
    for tests in (earlier, later):
        Campaign.objects.filter(pk=tests[0].campaign_id).update(**just_now())
    return [tests[0].campaign_id for tests in (earlier, later)]


@pytest.fixture
def weeks(weeks_of_the_file, project):
    """Last week's campaign and today's, in which HTTP is slower."""
    return [Campaign.objects.get(pk=pk) for pk in weeks_of_the_file]


def page_of(client, *rows, **query):
    names = [f"{type(row).__name__.lower()}-{row.pk}" for row in rows]
    columns = dict(zip("abcdefg", names, strict=False))
    return client.get(reverse("comparison"), {**columns, **query})


def test_functions_that_take_more_of_the_cpu_time_are_named(as_vera, weeks):
    for campaign, shares in zip(weeks, ((60, 10), (20, 50)), strict=True):
        functions = [[n, "nginx", "libssl.so.3", f"f{place}"] for place, n in enumerate(shares)]
        facts = {"of": "processes", "lasted_s": 8, "samples": 100, "functions": functions}
        profile = read_profile(facts, 9)
        run = campaign.runs.first()
        RunProfile.objects.create(run=run, source="shop-1", data=profile.to_json())
    page = page_of(as_vera, *weeks).content.decode()
    assert "Functions whose share of the CPU time changed" in page
    names = {letter: f"campaign-{each.pk}" for letter, each in zip("ab", weeks, strict=True)}
    [table] = as_vera.get(reverse("api-comparison"), names).json()["profiles"]
    assert [(row["label"], row["values"]["difference"]) for row in table["rows"]] == [
        ("f1", 40.0), ("f0", -40.0),
    ]  # fmt: skip


def tick(client, *runs):
    return client.get(reverse("comparison"), {"run": [run.pk for run in runs]}, follow=True)


def words_of(page) -> list[str]:
    times = page.context["times"]
    return [each["test"].word for each in times["rows"]] if times else []


def test_of_many_tests_those_without_a_difference_are_folded(as_vera, weeks, monkeypatch):
    assert words_of(page_of(as_vera, *weeks)) == ["slower", "no practical difference"]
    monkeypatch.setattr(compared, "_MOST_LISTED", 1)
    page = page_of(as_vera, *weeks)
    assert words_of(page) == ["slower"]
    everything = as_vera.get(f"{reverse('comparison')}?{page.context['everything_query']}")
    assert words_of(everything) == ["slower", "no practical difference"]


def test_a_difference_stands_between_the_ends_of_its_interval(as_vera, weeks):
    slower, same = page_of(as_vera, *weeks).context["times"]["rows"]
    for each in (slower, same):
        (x, width), at = each["bar"], each["at"]
        assert x <= at <= x + width
        low, high = map(float, each["row"].ends.replace("\u2212", "-").split(" to "))
        assert low <= float(each["row"].cells[2].value) <= high
    zero = page_of(as_vera, *weeks).context["times"]["zero"]
    assert zero < slower["bar"][0], "what is slower has its interval right of the baseline"


def test_only_parts_with_something_have_a_tab(as_vera, weeks):
    page = page_of(as_vera, *weeks)
    tabs = [key for key, *_ in page.context["tabs"]]
    assert tabs == ["result", "runs", "setup"]
    panels = re.findall(r'id="(\w+)" role="tabpanel"', page.content.decode())
    assert panels == tabs


def same_as(campaign):
    later = same_again(list(campaign.tests.order_by("position")))
    run_in_blocks(later, [FAST, FAST])
    return later[0].campaign


def test_a_campaign_leads_to_its_earlier_ones_newest_first(as_vera, weeks):
    third = same_as(weeks[0])
    Campaign.objects.filter(pk=third.pk).update(started_at=timezone.now())
    Campaign.objects.filter(pk=third.pk).update(finished_at=timezone.now())
    campaign = as_vera.get(reverse("campaign-detail", args=[third.pk]))
    address = f"{reverse('comparison')}?b=campaign-{third.pk}"
    assert address in campaign.content.decode()
    page = as_vera.get(address)
    choices = page.context["choices"]
    assert [choice.campaign for choice, _ in choices] == [weeks[1], weeks[0]]
    assert f">{choices[0][0].when}</a>" in page.content.decode()


def test_a_third_column_is_chosen_from_the_others(as_vera, weeks):
    third = same_as(weeks[0])
    Campaign.objects.filter(pk=third.pk).update(started_at=timezone.now())
    page = page_of(as_vera, *weeks)
    choice = as_vera.get(f"{reverse('comparison')}?{page.context['column_query']}")
    ((other, query),) = choice.context["choices"]
    assert other.campaign == third
    three = as_vera.get(f"{reverse('comparison')}?{query}")
    assert [column.row for column in three.context["columns"]] == [*weeks, third]


def test_two_ticks_lead_to_the_comparison_with_the_older_run_as_baseline(as_vera, pair):
    older, newer = pair
    response = as_vera.get(reverse("comparison"), {"run": [newer.pk, older.pk]})
    assert response.url == f"{reverse('comparison')}?a=run-{older.pk}&b=run-{newer.pk}"


def test_two_to_six_ticks_are_compared(as_vera, project, pair):
    more = [
        measure(make_run(make_test(make_campaign(project))), 9_000, seconds=1) for _ in range(5)
    ]
    for runs in ([], pair[:1], [*pair, *more]):
        assert "compared" not in tick(as_vera, *runs).context
    assert tick(as_vera, *pair, more[0]).context["compared"].sentences


@pytest.mark.parametrize("is_foreign_first", [True, False])
def test_what_is_foreign_or_deleted_is_not_found(as_vera, weeks, is_foreign_first):
    foreign = make_campaign(make_project("Elsewhere"))
    sides = [foreign, weeks[0]] if is_foreign_first else [weeks[0], foreign]
    assert page_of(as_vera, *sides).status_code == 404
    foreign_run = make_run(make_test(foreign))
    assert tick(as_vera, foreign_run).status_code == 404
    weeks[1].runs.all().delete()
    test = weeks[1].tests.first()
    test_pk = test.pk
    test.delete()
    query = {"a": f"campaign-{weeks[0].pk}", "b": f"test-{test_pk}"}
    assert as_vera.get(reverse("comparison"), query).status_code == 404


def test_an_address_without_two_columns_says_what_it_needs(as_vera, weeks):
    first, second = (f"campaign-{each.pk}" for each in weeks)
    for query, status in [
        ({"a": first, "b": "nonsense"}, 422),
        ({"a": first, "b": first}, 422),
        ({"a": first}, 200),
        ({"a": first, "b": second, "choose": "b"}, 200),
    ]:
        answer = as_vera.get(reverse("comparison"), query)
        assert (answer.status_code, answer.templates[0].name) == (status, "compare/choose.html")
        faults = answer.context.get("faults") if status == 422 else None
        assert bool(faults) == (status == 422)
        if "choose" not in query:
            assert as_vera.get(reverse("comparison-csv"), query).status_code == 404
