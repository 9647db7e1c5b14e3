from workers.dialling import own_addresses

TRIE = """Local:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.0
        /24 link UNICAST
     |-- 10.0.0.7
        /32 host LOCAL
     |-- 10.0.0.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
"""


def test_it_reads_the_addresses_that_the_kernel_calls_local(tmp_path):
    ipv4, ipv6 = tmp_path / "fib_trie", tmp_path / "if_inet6"
    ipv4.write_text(TRIE)
    ipv6.write_text("fd000000000000000000000000000007 02 40 00 80 eth0\n")
    assert own_addresses(ipv4, ipv6) == ["10.0.0.7", "127.0.0.1", "fd00::7"]


def test_a_machine_that_tells_nothing_has_no_known_address(tmp_path):
    assert own_addresses(tmp_path / "none", tmp_path / "none") == []


def test_this_machine_has_a_loopback_address():
    assert "127.0.0.1" in own_addresses()
