"""A jar keeps and sends cookies as RFC 6265 says."""

import pytest

from workers.injector import users as cookies
from workers.injector.connection import NS, now
from workers.injector.users import MAX_COOKIES, CookieJar

pytestmark = pytest.mark.pure


def jar(*cookies: str, host: str = "shop.test", is_tls: bool = False, path: str = "/a/b"):
    cookie_jar = CookieJar(host, is_tls)
    cookie_jar.take(tuple(("Set-Cookie", cookie) for cookie in cookies), path)
    return cookie_jar


def test_one_cookie():
    for cookie, path, sent in [
        ("id=1", "/a/c", "id=1"),
        ("id=1", "/other", ""),
        ("id=1; Path=/", "/other", "id=1"),
        ("id=1; Path=/a", "/ab", ""),
        ("id=1; Path=/a", "/a?x=1", "id=1"),
        ("id=1; Path=/; Secure", "/", ""),
        ("id=1; Path=/; Max-Age=0", "/", ""),
        ("id=1; Path=/; Max-Age=60", "/", "id=1"),
        ("id=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "/", ""),
        ("id=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9", "/", "id=1"),
        ("id=1; Path=/; Max-Age=-5", "/", ""),
        ("id=1; Path=/; Max-Age=--5", "/", "id=1"),
        ("id=1; Path=/; Max-Age=\xb2", "/", "id=1"),
        ("id=1; Path=/; Max-Age=-" + "9" * 400, "/", ""),
        ("id=1; Path=/; Max-Age=" + "9" * 4000, "/", "id=1"),
        ("id=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=999999999999", "/", "id=1"),
        ("id=1; Path=/; Expires=nonsense", "/", "id=1"),
        ("id=1; Path=/; Expires=Thu, 01 Jan 99999999999999999999 00:00:00 GMT", "/", "id=1"),
        ("id=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 +9999999999999999", "/", "id=1"),
        ("id=1; Path=/; Domain=shop.test", "/", "id=1"),
        ("id=1; Path=/; Domain=.test", "/", "id=1"),
        ("id=1; Path=/; Domain=evil.test", "/", ""),
        ('id="a=b"; Path=/', "/", 'id="a=b"'),
        ("no equals sign", "/a/c", ""),
        ("=nameless", "/a/c", ""),
        ("id=; Path=/", "/", "id="),
        ("id=" + "x" * 5000, "/a/c", ""),
    ]:
        assert jar(cookie).header(path) == sent


def test_a_secure_cookie_goes_over_tls():
    assert jar("id=1; Path=/; Secure", is_tls=True).header("/") == "id=1"


def test_a_later_value_takes_the_place_of_an_earlier_and_longer_paths_come_first():
    assert jar("id=1; Path=/", "id=2; Path=/", "id=3; Path=/a").header("/a/b") == "id=3; id=2"
    cookie_jar = jar("first=1; Path=/", "second=1; Path=/", "first=2; Path=/")
    assert cookie_jar.header("/") == "first=2; second=1"


def test_a_server_cannot_fill_the_memory():
    cookie_jar = jar(*(f"c{number}=1; Path=/" for number in range(1000)))
    assert cookie_jar.header("/").count("=") == MAX_COOKIES


def test_expired_cookies_push_no_other_out(monkeypatch):
    brief = (f"c{number}=1; Path=/; Max-Age=60" for number in range(MAX_COOKIES - 1))
    cookie_jar = jar("login=1; Path=/", *brief)
    later = now() + 61 * NS
    monkeypatch.setattr(cookies, "now", lambda: later)
    cookie_jar.take((("Set-Cookie", "new=1; Path=/"),), "/")
    assert cookie_jar.header("/") == "login=1; new=1"


def test_one_that_is_set_again_and_again_is_not_the_one_to_go():
    others = (f"c{number}=1; Path=/" for number in range(MAX_COOKIES - 1))
    full = jar("login=1; Path=/", *others, "login=2; Path=/", "one=1; Path=/", "two=1; Path=/")
    assert full.header("/").startswith("login=2; c2=1")


def test_a_cookie_goes_to_another_host_only_where_its_domain_says_so():
    for cookie, host, is_tls, sent in [
        ("id=1", "www.shop.test", True, ""),
        ("id=1; Domain=shop.test", "login.shop.test", True, "id=1"),
        ("id=1; Domain=shop.test", "evilshop.test", True, ""),
        ("id=1; Domain=test", "other.test", True, ""),
        ("id=1; Domain=shop.test; Secure", "login.shop.test", False, ""),
    ]:
        cookies = CookieJar("shop.test", is_tls=True)
        cookies.take((("Set-Cookie", f"{cookie}; Path=/"),), "/")
        assert cookies.header("/", (host, is_tls)) == sent
