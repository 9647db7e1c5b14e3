"""What a run's page and the terminal say of its TLS."""

from campaigns.domain.measured.injector_end import InjectorEnd, TlsHandshakes
from campaigns.domain.plan.target import Origin
from campaigns.domain.shown.tls_facts import tls_facts

HTTPS = Origin("https", "shop.test", 443)
FULL = TlsHandshakes(
    "TLSv1.3", "AES", 10, 256, group="X25519", certificate="RSA 2048", chain_bytes=1204,
    bytes_sent=5000, bytes_received=30_000,
)  # fmt: skip
RESUMED = TlsHandshakes(
    "TLSv1.3", "AES", 90, 256, resumed=True, group="X25519", bytes_sent=54_000, bytes_received=9000
)


def facts(*handshakes, endpoint=HTTPS) -> list[list[str]]:
    return tls_facts(endpoint, [InjectorEnd(tls=handshakes, tls_library="OpenSSL 4.0.3")])


def test_without_tls_there_are_none():
    assert tls_facts(Origin("http", "shop.test", 80), []) == []


def test_the_bytes_of_full_and_resumed_handshakes_are_told_apart():
    assert facts(FULL, RESUMED) == [
        ["Certificate verified", "yes"],
        ["TLSv1.3, AES, X25519, 256 bits, full", "10"],
        ["TLSv1.3, AES, X25519, 256 bits, resumed", "90"],
        ["Certificate", "RSA 2048, 1,204 B sent"],
        ["Bytes of a full handshake, mean", "500 B sent, 3,000 B received"],
        ["Bytes of a resumed handshake, mean", "600 B sent, 100 B received"],
        ["Early data", "never sent"],
        ["Library", "OpenSSL 4.0.3"],
    ]


def test_an_injector_that_counted_no_bytes_has_no_mean_of_them():
    names = [name for name, _ in facts(FULL, TlsHandshakes("TLSv1.2", "AES", 1))]
    assert not any(name.startswith("Bytes") for name in names)
