"""TLS on the command line."""

import shlex
import stat
from argparse import ArgumentParser

import pytest

from campaigns.domain.plan.tls_options import OFFERED, PROFILES, command_options
from tests.injector.authority import CLIENT, authority, issue, server_context
from tests.injector.openssl_server import OpenSslServer
from tests.injector.servers import OK_REPLY, always, scripted
from workers.injector.cli import REFUSED, main, make_order, make_parser
from workers.injector.cli_options import add_tls_options
from workers.injector.summary import run_here


def order(*arguments):
    return make_order(make_parser().parse_args(list(map(str, arguments))))


def test_the_options_become_the_orders_fields(tmp_path):
    (tmp_path / "ca.pem").write_text("CA")
    whole_order = order(
        "https://10.0.0.5/", "--tls-min", "1.2", "--tls-max", "1.2", "--ciphers", "ECDHE+AESGCM",
        "--ca-file", tmp_path / "ca.pem", "--sni", "shop.example", "--no-alpn", "--insecure",
        "--fingerprint", "ab" * 32, "--groups", "P-256", "--signatures", "ed25519",
        "--ciphersuites", "TLS_AES_128_GCM_SHA256",
    )  # fmt: skip
    assert whole_order["endpoint"]["verify_tls"] is False
    assert whole_order["endpoint"]["tls"] == {
        "min_version": "1.2",
        "max_version": "1.2",
        "ciphers": "ECDHE+AESGCM",
        "ca_pem": "CA",
        "sni": "shop.example",
        "client_certificate_pem": "",
        "alpn": False,
        "fingerprint": "ab" * 32,
        "groups": "P-256",
        "ciphersuites": "TLS_AES_128_GCM_SHA256",
        "signatures": "ed25519",
    }


def test_a_profile_becomes_the_options_that_it_stands_for_and_other_options_go_first():
    tls = order("https://10.0.0.5/", "--tls-profile", "browser", "--groups", "P-256")["endpoint"][
        "tls"
    ]
    assert tls["groups"] == "P-256"
    assert tls["ciphersuites"].startswith("TLS_AES_128_GCM_SHA256:")
    assert "profile" not in tls


def test_a_projects_profile_can_be_given_by_its_options():
    """A copy of each profile that comes with benchsite offers what that one does."""
    for key in [key for key in PROFILES if key]:
        options = shlex.split(command_options(dict(PROFILES[key].offers)))
        by_options, by_name = (
            order("https://10.0.0.5/", *words)["endpoint"]["tls"]
            for words in (options, ("--tls-profile", key))
        )
        assert by_options == by_name
        assert options


_OPTIONS = [
    *("--fingerprint=" + "ab" * 32, "--tls-profile=tls12", "--tls-min=1.3", "--tls-max=1.2"),
    *("--ciphers=ECDHE", "--ciphersuites=TLS_AES_128_GCM_SHA256", "--groups=P-256"),
    *("--signatures=ed25519", "--ca-file=/ca.pem", "--sni=shop.example", "--no-alpn"),
    *("--client-certificate=/c.pem", "--client-key=/k.pem", "--key-log=/log", "--resume"),
]


def test_how_to_speak_tls_is_refused_where_none_is_spoken(capsys):
    for option in _OPTIONS:
        for scheme in ["http", "ws"]:
            assert main([f"{scheme}://127.0.0.1:1/", option]) == REFUSED
            errors = capsys.readouterr().err
            assert f"{option.split('=')[0]} needs an https or wss address." in errors


def test_every_option_of_tls_but_insecure_needs_it():
    options = ArgumentParser(add_help=False)
    add_tls_options(options)
    names = {each.split("=")[0].removeprefix("--").replace("-", "_") for each in _OPTIONS}
    assert names == vars(options.parse_args([])).keys() - {"insecure"} | {"resume"}


def test_every_field_that_a_profile_sets_has_an_option():
    offers = {
        "min_version": "1.2", "max_version": "1.3", "groups": "P-256",
        "ciphersuites": "TLS_AES_128_GCM_SHA256", "ciphers": "ECDHE+AESGCM:!aRSA",
        "signatures": "ed25519",
    }  # fmt: skip
    assert set(offers) == set(OFFERED)
    tls = order("https://10.0.0.5/", *shlex.split(command_options(offers)))["endpoint"]["tls"]
    assert {name: tls[name] for name in OFFERED} == offers


def test_a_server_that_wants_a_certificate_gets_one(tmp_path):
    client = issue(authority(), usage=CLIENT)
    for name, text in (
        ("ca", authority().pem), ("certificate", client.pem), ("key", client.key_pem),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    context = server_context(issue(authority()), clients_of=authority())
    with scripted(always(OK_REPLY), context) as server:
        whole_order = order(
            f"https://127.0.0.1:{server.port}/", "--ca-file", tmp_path / "ca",
            "--client-certificate", tmp_path / "certificate", "--client-key", tmp_path / "key",
        )  # fmt: skip
        result = run_here(whole_order, lambda second: None)
    assert (result.total.count("ok"), result.total.errors) == (1, {})


def run_with_key_log(path, *more):
    with scripted(always(OK_REPLY), OpenSslServer(issue())) as server:
        address = f"https://127.0.0.1:{server.port}/"
        return main([address, "--insecure", "--key-log", str(path), "--requests", "2", *more])


def test_a_key_log_has_the_secrets_of_every_connection_and_only_its_owner_reads_it(tmp_path):
    log = tmp_path / "keys"
    log.write_text("# kept\n")
    log.chmod(0o644)
    run_with_key_log(log, "--new-connection")
    first, *lines = log.read_text().splitlines()
    assert first == "# kept"
    labels = [line.split()[0] for line in lines]
    assert labels.count("CLIENT_TRAFFIC_SECRET_0") == labels.count("SERVER_TRAFFIC_SECRET_0") == 2
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_no_report_holds_a_secret_of_the_key_log(tmp_path, capsys):
    log = tmp_path / "keys"
    run_with_key_log(log, "--json")
    output, secrets = "".join(capsys.readouterr()), log.read_text().split()
    assert secrets
    assert not any(secret in output for secret in secrets)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["http://127.0.0.1:1/", "--key-log", "keys"], "--key-log needs an https or wss address."),
        (["https://127.0.0.1:1/", "--key-log", "keys", "--processes", "2"], "by one process"),
        (["https://127.0.0.1:1/", "--key-log", "no/such/folder"], "no/such/folder: No such file"),
    ],
)
def test_a_key_log_that_could_not_be_written_is_refused_before_anything_is_sent(
    arguments, words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == REFUSED
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_no_order_can_ask_for_a_key_log():
    whole_order = order("https://10.0.0.5/", "--key-log", "keys")
    assert "keys" not in str(whole_order)
