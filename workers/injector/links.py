"""The machine's network interfaces: how full they are, and whether they lose packets."""

from collections.abc import Callable
from dataclasses import dataclass

from workers.injector.machine import ProcFiles

_COUNTS = "/proc/net/dev"
_SPEED = "/sys/class/net/{}/speed"
_LOOPBACK = "lo"
# With fewer packets per second, a single stray packet would be a large share.
_FEW_PACKETS = 1000
_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Traffic:
    """Counters of one interface since boot; `lost` packets were dropped or had errors."""

    received_bytes: int
    sent_bytes: int
    packets: int
    lost: int


def read_traffic(files: ProcFiles) -> dict[str, Traffic]:
    """Every interface except loopback; {} if the kernel does not list them."""
    found = {}
    for line in files.lines(_COUNTS)[2:]:
        name, _, text = line.partition(":")
        numbers = [int(word) for word in text.split()]
        if name.strip() != _LOOPBACK and len(numbers) >= 12:
            found[name.strip()] = Traffic(
                received_bytes=numbers[0],
                sent_bytes=numbers[8],
                packets=numbers[1] + numbers[9],
                lost=sum(numbers[2:4]) + sum(numbers[10:12]),
            )
    return found


def bits_per_s_of(name: str) -> int:
    """The speed of an interface's link; 0 where it is not known, as of most virtual ones."""
    try:
        with open(_SPEED.format(name)) as file:
            return max(0, int(file.read())) * 1_000_000
    except (OSError, ValueError):
        return 0


class Links:
    """What happened on the interfaces from one call to the next."""

    def __init__(
        self,
        read: Callable[[], dict[str, Traffic]],
        speed_of: Callable[[str], int] = bits_per_s_of,
    ):
        self._read = read
        self._before = read()
        self._speeds = {name: speed for name in self._before if (speed := speed_of(name))}

    def take(self, elapsed_ns: int) -> dict[str, float]:
        """`link_share` of the fullest link in its busier direction, where a speed is known;
        `packets_lost_share` of all interfaces."""
        before, now = self._before, self._read()
        self._before = now
        pairs = [(name, before[name], each) for name, each in now.items() if name in before]
        lost = sum(each.lost - old.lost for _, old, each in pairs)
        packets = sum(each.packets - old.packets for _, old, each in pairs)
        seen = {"packets_lost_share": round(max(0, lost) / max(packets + lost, _FEW_PACKETS), 6)}
        shares = [
            self._bits(old, each) * _NS / elapsed_ns / self._speeds[name]
            for name, old, each in pairs
            if name in self._speeds
        ]
        return {"link_share": round(max(shares), 4), **seen} if shares else seen

    @staticmethod
    def _bits(before: Traffic, now: Traffic) -> int:
        received = now.received_bytes - before.received_bytes
        return 8 * max(0, received, now.sent_bytes - before.sent_bytes)
