"""The API's docs page: served by ourselves, under the same Content-Security-Policy as all pages."""


def test_the_docs_page_draws_every_operation_and_breaks_no_policy(page):
    complaints: list[str] = []
    elsewhere: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: elsewhere.append(request.url))
    page.goto("/api/v1/docs/")
    page.wait_for_selector("#operations-campaigns-campaigns_start")
    origin = page.evaluate("location.origin")
    assert [url for url in elsewhere if not url.startswith((origin, "data:"))] == []
    assert complaints == []
    page.click("#operations-campaigns-campaigns_start button.opblock-summary-control")
    page.wait_for_selector("#operations-campaigns-campaigns_start .responses-table")
    assert complaints == []
