"""What a run's TLS was: chosen, agreed on, and carried."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from campaigns.domain.metrics.injector_end import InjectorEnd, TlsHandshakes, tls_libraries_of
from campaigns.domain.plan.target import Origin
from campaigns.domain.units import count, figure

_KINDS = (("full", False), ("resumed", True))


def tls_facts(endpoint: Origin, ends: Sequence[InjectorEnd]) -> list[list[str]]:
    """[[name, value], …]; [] for an endpoint without TLS."""
    if not endpoint.is_tls:
        return []
    handshakes = [each for end in ends for each in end.tls]
    return [
        ["Certificate verified", "yes" if endpoint.verify_tls else "no"],
        *(["Chosen", words] for words in endpoint.tls.words()),
        *([name, count(number)] for name, number in sorted(_agreed(handshakes).items())),
        *(["Certificate", words] for words in certificates_of(ends)),
        *_bytes(handshakes),
        ["Early data", "never sent"],
        *(["Library", name] for name in tls_libraries_of(ends)),
    ]


def certificates_of(ends: Iterable[InjectorEnd]) -> list[str]:
    """The servers' keys with the size of their chains, each once: ECDSA secp256r1, 1,204 B sent."""
    return sorted(
        {
            f"{each.certificate or 'unknown key'}, {count(each.chain_bytes)} B sent"
            for end in ends
            for each in end.tls
            if each.chain_bytes
        }
    )


def handshake_lines(ends: Iterable[InjectorEnd]) -> list[str]:
    """For a terminal: what was agreed on how often, then the bytes of a handshake."""
    handshakes = [each for end in ends for each in end.tls]
    agreed = [f"TLS: {name}: {count(n)}" for name, n in sorted(_agreed(handshakes).items())]
    return [*agreed, *(f"{name}: {words}" for name, words in _bytes(handshakes))]


def _agreed(handshakes: Iterable[TlsHandshakes]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for each in handshakes:
        kind = "resumed" if each.resumed else "full"
        counts[f"{each.agreed}, {each.bits} bits, {kind}"] += each.count
    return counts


def _bytes(handshakes: Sequence[TlsHandshakes]) -> Iterator[list[str]]:
    for kind, is_resumed in _KINDS:
        found = [each for each in handshakes if each.resumed == is_resumed]
        if not found or any(each.bytes_received is None for each in found):
            continue
        n = sum(each.count for each in found)
        sent = figure(sum(each.bytes_sent for each in found) / n)
        received = figure(sum(each.bytes_received for each in found) / n)
        yield [f"Bytes of a {kind} handshake, mean", f"{sent} B sent, {received} B received"]
