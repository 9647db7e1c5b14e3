import logging

from benchsite.logs import NoShareTokens


def test_a_log_line_hides_the_token_of_a_share_link():
    record = logging.makeLogRecord(
        {"msg": "%s: %s", "args": ("Not Found", "/s/9Oeekc9Jtbe5Uw6uLhwk_-x/stream/")}
    )
    assert NoShareTokens().filter(record)
    assert record.getMessage() == "Not Found: /s/…/stream/"


def test_other_lines_stay_as_they_are():
    record = logging.makeLogRecord({"msg": "%s: %s", "args": ("Not Found", "/static/x.css")})
    assert NoShareTokens().filter(record)
    assert record.getMessage() == "Not Found: /static/x.css"


def test_every_handler_of_the_site_has_the_filter(settings):
    for handler in settings.LOGGING["handlers"].values():
        assert "no_share_tokens" in handler["filters"]
