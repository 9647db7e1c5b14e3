"""A page that was open all the time shows at the end what a fresh one would show."""

END_MS = 60_000


def test_the_end_of_a_campaign_replaces_what_was_under_way(signed_in, site, new_project):
    rest = new_project()
    (endpoint,) = rest.make_target(
        "demo", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    plan = rest.make_plan("short", model="over", requests=40, over_s=2)
    page = signed_in
    campaign = rest.start("watched", (plan, endpoint), repeats=2)
    page.goto(f"/campaigns/{campaign}/")
    under_way = page.get_by_role("heading", name="Current run")
    under_way.wait_for(timeout=END_MS)
    page.get_by_role("button", name="Run again").wait_for(timeout=END_MS)
    under_way.wait_for(state="hidden")
    assert not page.locator("[data-progress]").count()
    assert not page.get_by_role("button", name="Stop campaign").count()
    watched = said(page)
    page.reload()
    assert watched == said(page)


def said(page) -> list[str]:
    """What a reader sees, line by line; charts are pictures."""
    return [line for line in page.locator("main").inner_text().splitlines() if line.strip()]
