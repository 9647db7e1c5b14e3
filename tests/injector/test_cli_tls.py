"""TLS on the command line."""

from tests.injector.authority import CLIENT, authority, issue, server_context
from tests.injector.servers import OK_REPLY, always, scripted
from workers.injector.cli import make_order, make_parser
from workers.injector.local_run import run_here


def order(*arguments):
    return make_order(make_parser().parse_args(list(map(str, arguments))))


def test_the_options_become_the_orders_fields(tmp_path):
    (tmp_path / "ca.pem").write_text("CA")
    made = order(
        "https://10.0.0.5/", "--tls-min", "1.2", "--tls-max", "1.2", "--ciphers", "ECDHE+AESGCM",
        "--ca-file", tmp_path / "ca.pem", "--sni", "shop.example", "--no-alpn", "--insecure",
        "--fingerprint", "ab" * 32, "--groups", "P-256", "--signatures", "ed25519", "--ocsp",
        "--ciphersuites", "TLS_AES_128_GCM_SHA256",
    )  # fmt: skip
    assert made["endpoint"]["verify_tls"] is False
    assert made["endpoint"]["tls"] == {
        "min_version": "1.2",
        "max_version": "1.2",
        "ciphers": "ECDHE+AESGCM",
        "ca_pem": "CA",
        "sni": "shop.example",
        "client_certificate_pem": "",
        "alpn": False,
        "fingerprint": "ab" * 32,
    }


def test_a_server_that_wants_a_certificate_gets_one(tmp_path):
    client = issue(authority(), usage=CLIENT)
        "groups": "P-256",
        "ciphersuites": "TLS_AES_128_GCM_SHA256",
        "signatures": "ed25519",
        "ocsp": True,
    for name, text in (
        ("ca", authority().pem), ("certificate", client.pem), ("key", client.key_pem),
    ):  # fmt: skip
def test_a_profile_becomes_the_options_that_it_stands_for_and_other_options_go_first():
    tls = order("https://10.0.0.5/", "--tls-profile", "browser", "--groups", "P-256")["endpoint"][
        "tls"
    ]
    assert (tls["groups"], tls["ocsp"]) == ("P-256", True)
    assert tls["ciphersuites"].startswith("TLS_AES_128_GCM_SHA256:")
    assert "profile" not in tls


        (tmp_path / name).write_text(text)
    context = server_context(issue(authority()), clients_of=authority())
    with scripted(always(OK_REPLY), context) as server:
        made = order(
            f"https://127.0.0.1:{server.port}/", "--ca-file", tmp_path / "ca",
            "--client-certificate", tmp_path / "certificate", "--client-key", tmp_path / "key",
        )  # fmt: skip
        result = run_here(made, lambda second: None)
    assert (result.total.count("ok"), result.total.errors) == (1, {})
