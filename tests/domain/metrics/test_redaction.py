"""What is secret does not leave the injector, in whichever form it comes."""

from campaigns.domain.metrics.outcomes import printable, redacted, redacted_head, without_addresses


def test_tokens_are_hidden_in_their_usual_forms():
    for text, words in [
        ("/login?user=ann&password=hunter2", "/login?user=ann&password=[hidden]"),
        ("/x?access_token=abc.def#top", "/x?access_token=[hidden]"),
        ('{"api_key": "k-1", "n": 2}', '{"api_key": "[hidden]", "n": 2}'),
        ('{"token": "cut off', '{"token": "[hidden]"'),
        ("Bearer abcdef0123456", "Bearer [hidden]"),
        ("see https://ann:pw@shop.test/x", "see https://[hidden]@shop.test/x"),
        ("no such route /v2/prices", "no such route /v2/prices"),
    ]:
        assert redacted(text) == words


def test_known_values_are_hidden_and_short_ones_only_as_words():
    assert redacted("user 7 has 77 of long-secret", ["7", "long-secret"]) == (
        "user [hidden] has 77 of [hidden]"
    )


def test_headers_that_carry_credentials_have_no_value():
    head = (
        "GET /?sig=1a2b HTTP/1.1\nHost: shop\nAuthorization: Basic YTpi\nCookie: a=1\n"
        "X-Api-Key: k\nSet-Cookie: id=9; Secure\nLocation: /next?code=77"
    )
    assert redacted_head(head).split("\n") == [
        "GET /?sig=[hidden] HTTP/1.1",
        "Host: shop",
        "Authorization: [hidden]",
        "Cookie: [hidden]",
        "X-Api-Key: [hidden]",
        "Set-Cookie: id=[hidden]; Secure",
        "Location: /next?code=[hidden]",
    ]


def test_to_redact_twice_changes_nothing():
    once = redacted_head('GET /?token=a HTTP/1.1\nSet-Cookie: id=9; Secure\nX: {"pwd": "x"}')
    assert redacted_head(once) == once


def test_control_characters_become_escapes():
    assert printable("a\x00b\x1b[0m\u202e\r\n\t") == "a\\x00b\\x1b[0m\u202e\n\t"


def test_addresses_and_the_hosts_name_are_hidden_and_nothing_else():
    for text, left in [
        ("10.20.30.40 is in none of the networks.", "[hidden] is in none of the networks."),
        ("10.0.0.5:5432 is a server of this", "[hidden] is a server of this"),
        ("fd00::5 is in none", "[hidden] is in none"),
        ("[fd00::5]:5432 is a server", "[hidden] is a server"),
        ("The name shop.internal could not be", "The name [hidden] could not be"),
        ("Not shop.internal.example, after 60.5 s at 12:30:45.", None),
    ]:
        assert without_addresses(text, "shop.internal") == (left or text)


def test_several_hosts_are_hidden_at_once():
    assert without_addresses("a.test or b.test", "a.test", "b.test") == "[hidden] or [hidden]"
