"""Two runs side by side."""

import pytest
from django.urls import reverse

from tests.factories import make_campaign, make_project, make_run, make_test
from tests.queries.measured import https_campaign, measure, run_in_blocks

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(project):
    _, tests = https_campaign(project, repeats=1)
    return run_in_blocks(tests, [[12_000], [24_000]])


def choose(client, *runs):
    return client.get(reverse("comparison-choose"), {"run": [run.pk for run in runs]}, follow=True)


def test_two_ticks_lead_to_the_comparison_with_the_older_run_as_baseline(client, vera, pair):
    client.force_login(vera)
    older, newer = pair
    response = client.get(reverse("comparison-choose"), {"run": [newer.pk, older.pk]})
    assert response.url == reverse("comparison", args=[older.pk, newer.pk])


def test_the_page_shows_ratio_differences_and_why_there_is_no_word(client, vera, pair):
    client.force_login(vera)
    page = choose(client, *pair).content.decode()
    assert "single runs" in page
    assert "What differs" in page
    assert "https" in page
    for word in ("slower than", "faster than"):
        assert word not in page


def test_one_tick_or_three_are_answered_in_words(client, vera, project, pair):
    client.force_login(vera)
    third = measure(make_run(make_test(make_campaign(project))), 9_000)
    assert "Tick two runs" in choose(client, pair[0]).content.decode()
    assert "Tick two runs" in choose(client, *pair, third).content.decode()
    assert "none are ticked" in choose(client).content.decode()


def test_a_run_of_a_foreign_project_cannot_be_compared(client, vera, pair):
    client.force_login(vera)
    foreign = make_run(make_test(make_campaign(make_project("Elsewhere"))))
    assert choose(client, pair[0], foreign).status_code == 404
    url = reverse("comparison", args=[pair[0].pk, foreign.pk])
    assert client.get(url).status_code == 404


def test_a_tick_that_is_no_number_is_no_tick(client, vera, pair):
    client.force_login(vera)
    response = client.get(reverse("comparison-choose"), {"run": ["x", pair[0].pk]}, follow=True)
    assert "1 are ticked" in response.content.decode()
