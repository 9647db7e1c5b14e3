"""A TLS profile that a project names: what it may set, and the sentence for what it may not."""

import pytest

from campaigns.domain.errors import InvalidFields
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.own_tls_profiles import check_profile, own_profile
from campaigns.domain.plan.rungs import profile_of_rung, rung_of_profile
from campaigns.domain.plan.target import check_target
from campaigns.domain.plan.tls_options import TlsOptions, read_tls_options

OURS = own_profile("our clients", {"groups": "X25519", "max_version": "1.2"})
ENDPOINT = {"scheme": "https", "host": "shop.example", "port": 443}


def faults_of(name="our clients", **offers) -> dict[str, str]:
    with pytest.raises(InvalidFields) as refused:
        check_profile(name, **offers)
    return refused.value.errors


def test_only_what_differs_from_the_standard_profile_is_kept():
    profile = check_profile("our  clients ", groups="x25519, secp256r1", ciphers="")
    assert (profile.name, dict(profile.offers)) == ("our clients", {"groups": "X25519:P-256"})
    assert profile.summary == "Groups X25519:P-256."


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"name": "TLS12"}, "name"),
        ({"name": "As a browser does today"}, "name"),
        ({"groups": "rot13"}, "groups"),
        ({"min_version": "1.1"}, "min_version"),
        ({"min_version": "1.3", "max_version": "1.2"}, "max_version"),
        ({"max_version": "1.2", "groups": "X25519MLKEM768"}, "groups"),
        ({"ciphers": "NO-SUCH-CIPHER"}, "ciphers"),
        ({"sni": "shop.example"}, "sni"),
        ({"profile": "browser"}, "profile"),
    ],
)
def test_what_is_wrong_is_at_its_field(given, field):
    assert field in faults_of(**given)


def test_an_endpoint_names_it_as_it_names_any_other():
    (origin,) = check_target(
        "shop", [], [ENDPOINT | {"tls": {"profile": "our clients"}}], {"our clients": OURS}
    ).origins
    assert origin.tls == TlsOptions(profile="our clients")
    assert origin.tls.words() == ["profile “our clients”"]


def test_a_name_that_the_project_has_not_is_refused_with_those_that_it_has():
    reader = JsonReader({"profile": "theirs"})
    read_tls_options(reader, {"our clients": OURS})
    assert "profile" in reader.errors


def test_an_endpoint_s_own_options_must_go_with_what_it_offers():
    reader = JsonReader({"profile": "our clients", "min_version": "1.3"})
    read_tls_options(reader, {"our clients": OURS})
    assert "max_version" in reader.errors


def test_what_is_resolved_keeps_values_and_name_without_the_profile():
    resolved = TlsOptions(profile="our clients", groups="P-256").resolved(OURS)
    assert resolved == TlsOptions(profile="our clients", groups="P-256", max_version="1.2")
    assert resolved.resolved() == resolved
    assert resolved.profile_name == "our clients"
    assert "TLS 1.2 or older" in resolved.words()


def test_it_is_a_rung_by_its_name():
    rung = rung_of_profile(OURS)
    assert (rung.title, rung.profile, rung.words) == ("our clients", "our clients", OURS.summary)
    assert profile_of_rung(rung.key) == "our clients"
    assert profile_of_rung("new-rsa") == ""
