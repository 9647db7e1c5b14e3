"""The address of an exporter, as people type it."""

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.plan.exporters import ExporterAddress, check_exporter

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("http://10.0.0.5:9100/metrics", "http://10.0.0.5:9100/metrics"),
        ("10.0.0.5:9100", "http://10.0.0.5:9100/metrics"),
        ("shop.example:9100", "http://shop.example:9100/metrics"),
        (" https://Shop.Example ", "https://shop.example:443/metrics"),
        ("http://shop.example/", "http://shop.example:80/metrics"),
        ("http://[fc00::5]:9100/m", "http://[fc00::5]:9100/m"),
        ("http://shop.example:9100/probe?collect[]=cpu", "http://shop.example:9100/probe?collect[]=cpu"),
        ("http://shop.example:9100?collect[]=cpu", "http://shop.example:9100/metrics?collect[]=cpu"),
        ("http://shop.example:9100/metrics#top", "http://shop.example:9100/metrics"),
    ],
)  # fmt: skip
def test_an_address_is_written_whole(typed, url):
    assert str(ExporterAddress.read(typed)) == url
    assert str(ExporterAddress.read(url)) == url


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "Write an address, such as"),
        ("ftp://shop.example/", "begins with http:// or https://"),
        ("file:///etc/passwd", "begins with http:// or https://"),
        ("http://", "Write a name or an address"),
        ("http://shop.example:99999/", "This is no address"),
        ("http://shop.example:0/", "a port from 1 to 65535"),
        ("http://[fc00::5/", "This is no address"),
        ("http://bob:secret@shop.example/", "Leave out user and password"),
        ("http://shop.example/a b", "without spaces"),
        ("http://shop.example/\r\nX: y", "without spaces"),
        ("http://169.254.169.254/metrics", "no load is ever sent there"),
        ("http://10.0.0.5.6/", "is not a name or an address"),
        ("http://shop.example/" + "x" * 500, "too many"),
    ],
)
def test_what_is_no_address_says_what_to_write(typed, says):
    with pytest.raises(InvalidFields) as refused:
        check_exporter(url=typed)
    assert says in refused.value.errors["url"]
    assert "secret" not in str(refused.value)


def test_without_a_name_it_is_the_host_and_port():
    assert check_exporter(url="http://shop.example:9100").name == "shop.example:9100"
    assert check_exporter(url="shop.example:9100", name=" shop-1 ").name == "shop-1"
    with pytest.raises(InvalidFields, match="name: 101 characters are too many"):
        check_exporter(url="shop.example", name="x" * 101)


@pytest.mark.parametrize(
    ("url", "verify_tls", "token", "says"),
    [
        ("http://shop.example", True, "t", "only over https"),
        ("https://shop.example", False, "t", "only if the certificate is verified"),
        ("https://shop.example", True, "a b", "none of them a space"),
        ("https://shop.example", True, "a\nb", "none of them a space"),
        ("https://shop.example", True, "t" * 4097, "at most 4,096"),
    ],
)
def test_a_token_goes_only_where_nobody_else_reads_it(url, verify_tls, token, says):
    with pytest.raises(InvalidFields) as refused:
        check_exporter(url=url, verify_tls=verify_tls, token=token)
    assert says in refused.value.errors["token"]


@pytest.mark.parametrize("token", [None, "", "abc.DEF-1_2~3"])
def test_a_token_may_be_kept_removed_or_set(token):
    assert check_exporter(url="https://shop.example", token=token).token == token
