"""An exporter's metrics as figures of a machine."""

import math
import time
from collections.abc import Mapping

import pytest

from campaigns.domain.metrics.exporter import (
    METRICS,
    ExporterSeconds,
    NotExposition,
    NothingKnown,
    check_exposition,
    did_between,
    read_exporter,
    reading_of,
    samples_of,
)
from campaigns.domain.metrics.machine import LONGEST_WATCHED, MOST_WATCHED

pytestmark = pytest.mark.pure


S = 1_000_000_000
CPU = {"user": 10.0, "nice": 1.0, "system": 4.0, "irq": 0.5, "softirq": 0.5, "steal": 0.0,
       "iowait": 1.0, "idle": 83.0}  # fmt: skip


def cpu_lines(growth: Mapping[str, float] | None = None, core: str = "0") -> str:
    """A core's time by mode, grown by so much."""
    values = {mode: value + (growth or {}).get(mode, 0.0) for mode, value in CPU.items()}
    return "".join(
        f'node_cpu_seconds_total{{cpu="{core}",mode="{mode}"}} {value}\n'
        for mode, value in values.items()
    )


def read(text: str, itself: str = ""):
    return read_exporter(samples_of(text, METRICS), itself=itself)


def did(before: str, now: str, itself: str = ""):
    return did_between(read(before, itself), read(now, itself), 1.0)


def test_cpu_time_is_by_state_and_core():
    before = cpu_lines() + cpu_lines(core="1")
    now = cpu_lines({"user": 0.3, "nice": 0.1, "softirq": 0.1, "idle": 0.5}) + cpu_lines(
        {"system": 0.25, "iowait": 0.25, "idle": 0.5}, core="1"
    )
    assert did(before, now) == {
        "user_s": pytest.approx(0.4),
        "system_s": 0.25,
        "interrupts_s": pytest.approx(0.1),
        "stolen_s": 0,
        "waiting_s": 0.25,
        "idle_s": 1.0,
        "cores": [50, 25],
    }


def test_cores_are_in_the_order_of_their_numbers():
    numbers = ["0", "2", "10"]
    before = "".join(cpu_lines(core=each) for each in reversed(numbers))
    shares = dict(zip(numbers, (0.1, 0.2, 0.3), strict=True))
    now = "".join(
        cpu_lines({"user": share, "idle": 1 - share}, each) for each, share in shares.items()
    )
    assert did(before, now)["cores"] == [10, 20, 30]


def test_a_counter_tells_its_growth():
    for metric, figure in [
        ('node_network_receive_bytes_total{device="eth0"}', "received_bytes"),
        ('node_network_transmit_bytes_total{device="eth0"}', "sent_bytes"),
        ('node_network_transmit_bytes_total{device="lo"}', "loopback_bytes"),
        ('node_network_receive_packets_total{device="eth0"}', "received_packets"),
        ('node_network_transmit_packets_total{device="eth0"}', "sent_packets"),
        ('node_network_transmit_packets_total{device="lo"}', "loopback_packets"),
        ('node_network_receive_drop_total{device="eth0"}', "dropped_packets"),
        ('node_network_transmit_drop_total{device="eth0"}', "dropped_packets"),
        ("node_netstat_Tcp_OutSegs", "segments_sent"),
        ("node_netstat_Tcp_RetransSegs", "retransmitted"),
        ("node_netstat_TcpExt_ListenOverflows", "listen_overflows"),
        ("node_netstat_TcpExt_ListenDrops", "listen_drops"),
        ('node_disk_read_bytes_total{device="nvme0n1"}', "disk_read_bytes"),
        ('node_disk_written_bytes_total{device="sda"}', "disk_written_bytes"),
        ('node_disk_io_time_seconds_total{device="sda"}', "disk_busy_s"),
        ("node_vmstat_pswpin", "swapped_pages"),
        ("node_vmstat_pswpout", "swapped_pages"),
    ]:
        assert did(f"{metric} 1e3\n", f"{metric} 1007\n") == {figure: 7}


def test_a_gauge_is_as_it_was_at_the_end():
    for lines, figures in [
        ("node_procs_running 3\nnode_procs_blocked 1\n", {"running": 3, "blocked": 1}),
        (
            "node_memory_MemTotal_bytes 8e9\nnode_memory_MemFree_bytes 1e9\n"
            "node_memory_MemAvailable_bytes 6e9\n",
            {"memory_bytes": 8e9, "memory_used_bytes": 2e9},
        ),
        (
            "node_memory_MemTotal_bytes 8e9\nnode_memory_MemFree_bytes 1e9\n",
            {"memory_bytes": 8e9, "memory_used_bytes": 7e9},
        ),
        ("node_memory_MemFree_bytes 1e9\n", {}),
        (
            "node_memory_SwapTotal_bytes 2e9\nnode_memory_SwapFree_bytes 1.5e9\n",
            {"swap_used_bytes": 5e8},
        ),
        ("node_memory_SwapTotal_bytes 2e9\n", {}),
        ("node_netstat_Tcp_CurrEstab 12\n", {"established": 12}),
        ("node_sockstat_TCP_tw 7\nnode_sockstat_TCP_orphan 2\n", {"time_wait": 7, "orphaned": 2}),
        ("node_filefd_allocated 1024\n", {"open_files": 1024}),
    ]:
        assert did("node_load1 1\n", lines) == figures


def test_the_links_speed_is_told_if_there_is_one_link():
    link = 'node_network_receive_bytes_total{device="eth0"} 1\n'
    speed = 'node_network_speed_bytes{device="eth0"} 1.25e+08\n'
    assert did("", link + speed)["link_bytes_per_s"] == 125_000_000
    assert "link_bytes_per_s" not in did("", link + speed.replace("1.25e+08", "-125000"))
    other = link.replace("eth0", "eth1")
    assert "link_bytes_per_s" not in did("", link + other + speed)


def test_a_counter_that_appeared_counts_from_the_next_second_on():
    metric = "node_netstat_Tcp_RetransSegs"
    assert did("", f"{metric} 9\n") == {}
    two = 'node_network_receive_bytes_total{device="eth1"} 5e9\n'
    one = 'node_network_receive_bytes_total{device="eth0"} %d\n'
    assert did(one % 3, one % 5 + two) == {"received_bytes": 2}


def test_a_counter_that_fell_began_anew_and_the_others_did_not():
    lines = "node_netstat_Tcp_OutSegs %d\nnode_netstat_Tcp_RetransSegs %d\n"
    assert did(lines % (900, 4), lines % (20, 6)) == {"retransmitted": 2}


def test_cpu_time_that_fell_makes_a_gap():
    """Shares are of the sum of all states, and a cost of all seconds."""
    assert did(cpu_lines(), cpu_lines({"idle": 1.0, "user": -0.5})) is None


def test_more_cpu_time_than_there_was_makes_a_gap():
    for grown_s in [4.0, 900.0, 1e9]:
        assert did(cpu_lines(), cpu_lines({"idle": grown_s})) is None


def test_nothing_is_compared_over_a_start_of_the_machine():
    boot = "node_boot_time_seconds %s\nnode_netstat_Tcp_OutSegs %d\n"
    figures = did(boot % ("1.7e+09", 10), boot % ("1700000000.4", 12))
    assert figures == {"segments_sent": 2, "booted_s": 1700000000.4}
    assert did(boot % ("1.7e+09", 10), boot % ("1.70000009e+09", 12)) is None


def test_a_value_that_no_machine_has_is_not_told():
    for value in ["NaN", "+Inf", "-Inf", "-5", "1e300"]:
        assert did("", f"node_procs_running {value}\nnode_filefd_allocated 3\n") == {
            "open_files": 3
        }
        metric = "node_netstat_Tcp_OutSegs"
        assert did(f"{metric} {value}\n", f"{metric} 3\n") == {}


PROCESS = (
    "process_cpu_seconds_total %s\nprocess_resident_memory_bytes 5e7\nprocess_open_fds 12\n"
    "process_start_time_seconds %s\n"
)


def test_the_process_that_answers_counts_where_it_is_the_server():
    figures = did(PROCESS % (3, 100), PROCESS % (3.25, 100), itself="shop")
    of_process = {"cpu_s": 0.25, "memory_bytes": 5e7, "open_files": 12}
    assert figures == {"processes": {"shop": of_process}}


def test_a_process_that_began_anew_makes_a_gap():
    assert did(PROCESS % (3, 100), PROCESS % (3.25, 160), itself="shop") is None
    assert did(PROCESS % (3, 100), PROCESS % (0.25, 100), itself="shop") is None


GROUPS = """\
namedprocess_namegroup_cpu_seconds_total{groupname="nginx",mode="user"} %s
namedprocess_namegroup_cpu_seconds_total{groupname="nginx",mode="system"} 1
namedprocess_namegroup_num_procs{groupname="nginx"} 5
namedprocess_namegroup_num_threads{groupname="nginx"} 9
namedprocess_namegroup_memory_bytes{groupname="nginx",memtype="virtual"} 9e9
namedprocess_namegroup_memory_bytes{groupname="nginx",memtype="resident"} 5e7
namedprocess_namegroup_open_filedesc{groupname="nginx"} 12
"""


def test_chosen_processes_count_by_their_names():
    processes = did(GROUPS % 3, GROUPS % 3.25)["processes"]
    assert processes == {
        "nginx": {
            "cpu_s": 0.25,
            "processes": 5,
            "threads": 9,
            "memory_bytes": 5e7,
            "open_files": 12,
        }
    }
    assert did("", GROUPS % 3)["processes"]["nginx"].get("cpu_s") is None
    assert did(GROUPS % 3, GROUPS % 2) is None, "the agent began anew"


def test_no_more_processes_are_read_than_a_second_may_have():
    line = 'namedprocess_namegroup_cpu_seconds_total{groupname="%s"} 1\n'
    many = "".join(line % f"{n:x<200}" for n in range(MOST_WATCHED + 5))
    names = list(read(many + line % "" + line % "\\n").processes)
    assert len(names) == MOST_WATCHED
    assert {len(name) for name in names} == {LONGEST_WATCHED}


def take(*answers: tuple[float, str], itself: str = ""):
    """The seconds after each answer, of which each was given so many seconds after the first."""
    seconds = ExporterSeconds(itself)
    return seconds, [seconds.take(round(at_s * S), text) for at_s, text in answers]


def test_two_answers_make_a_second_with_the_middle_between_them():
    _, (first, second) = take((7, cpu_lines()), (8, cpu_lines({"user": 0.4, "idle": 0.6})))
    assert first is None
    assert (second.middle_ns, second.lasted_s) == (7 * S + S // 2, 1.0)
    assert second.did["cores"] == [40]


def test_an_interval_that_is_no_second_is_a_gap():
    for took_s, is_second in [(0.1, False), (1.6, True), (60, False)]:
        now = cpu_lines({"idle": took_s})
        _, (_, second) = take((0, cpu_lines()), (took_s, now))
        assert (second is not None) is is_second


def test_the_same_values_again_are_of_no_later_time():
    """An exporter behind a cache of two seconds."""
    lines = [cpu_lines({"user": 0.5 * n, "idle": 1.5 * n}) for n in range(3)]
    answers = [(0, lines[0]), (1, lines[0]), (2, lines[1]), (3, lines[1] + "# again\n")]
    seconds, results = take(*answers, (4, lines[2]))
    assert [each and (each.lasted_s, each.did["user_s"]) for each in results] == [
        None, None, (2.0, 0.5), None, (2.0, 0.5),
    ]  # fmt: skip
    assert seconds.trouble == ""


def test_values_that_stay_for_long_are_said():
    seconds, results = take(*((n, cpu_lines({"idle": n // 10 * 10})) for n in range(12)))
    assert not any(results)
    assert seconds.trouble.startswith("Its values stay the same for several seconds")


def test_an_idle_process_is_told_apart_from_a_cache_by_the_rest_of_its_answer():
    answers = [(n, PROCESS % (3, 100) + f"scrapes_total {n}\n") for n in range(3)]
    _, seconds = take(*answers, itself="shop")
    assert [each.did["processes"]["shop"]["cpu_s"] for each in seconds[1:]] == [0, 0]


def test_two_machines_behind_one_address_never_make_a_second():
    """Neither a fall nor a jump from one machine's counters to the other's."""
    machines = [
        f"node_boot_time_seconds {1.7e9 + 1e5 * n}\nnode_netstat_Tcp_OutSegs {10**9 * n}\n"
        for n in range(2)
    ]
    seconds, results = take(*((n, machines[n % 2]) for n in range(6)))
    assert not any(results)
    assert seconds.trouble.startswith("Its answers come from another machine or process each time")


def test_an_answer_without_a_metric_that_is_known_is_refused():
    for answer in ("go_goroutines 8\n", PROCESS % (3, 100)):
        with pytest.raises(NothingKnown):
            reading_of(answer)
    with pytest.raises(NotExposition, match="Line 1 "):
        reading_of("<html>")
    with pytest.raises(NotExposition, match="Line 2 "):
        reading_of("node_load1 3\nnode_procs_running many\n")


def only(line: str, name: str = "m"):
    (sample,) = samples_of(line, {name})
    return sample


def test_a_line_is_a_sample():
    for line, labels, value in [
        ("m 1", {}, 1),
        ("m -0.5", {}, -0.5),
        ("m\t1.25e+09", {}, 1.25e9),
        ("m 4.7E-7", {}, 4.7e-7),
        ("  m  3  ", {}, 3),
        ("m{} 1", {}, 1),
        ('m{a="b"} 1', {"a": "b"}, 1),
        ('m{a="b",} 1', {"a": "b"}, 1),
        ('m { a = "b" , c = "d" } 1', {"a": "b", "c": "d"}, 1),
        ('m{a="b"}1', {"a": "b"}, 1),
        ('m{a=""} 1', {"a": ""}, 1),
        ('m{a="} 9"} 1', {"a": "} 9"}, 1),
        (
            r'm{a="C:\\dir",b="say \"hi\"",c="two\nlines"} 1',
            {"a": "C:\\dir", "b": 'say "hi"', "c": "two\nlines"},
            1,
        ),
        (r'm{a="\\n"} 1', {"a": "\\n"}, 1),
        ('m{a="Zürich"} 1', {"a": "Zürich"}, 1),
        ("m 1 1395066363000", {}, 1),
        ("m 1 1395066363.123", {}, 1),
        ('m{a="b"} 1 -3982045', {"a": "b"}, 1),
        ('m 17 # {trace_id="oHg5SJ#YRHA0"} 9.8 1520879607.789', {}, 17),
        ("m +Inf", {}, math.inf),
        ("m -Inf", {}, -math.inf),
        ("m 1\r", {}, 1),
    ]:
        sample = only(line)
        assert (sample.name, sample.labels, sample.value) == ("m", labels, value)


def test_a_line_that_is_no_sample_is_named():
    for line in [
        "m",
        "m ",
        "m one",
        "m 1_000",
        "m 1 2 3",
        "m 1 #no-exemplar",
        'm{a="b" 1',
        'm{a="b} 1',
        "m{a=b} 1",
        "m{a} 1",
        'm{="b"} 1',
        'm{a="b"c="d"} 1',
        'm{a="b",a="c"} 1',
        "m{,} 1",
        "m}1",
        "m1{} 1 \x00",
    ]:
        with pytest.raises(NotExposition, match=r"^Line 3 is not in Prometheus' text format: m"):
            check_exposition(f"# HELP m some\n\n{line}\n")


def test_another_kind_of_text_is_none_of_its():
    for text in ["<!DOCTYPE html>\n<p>", '{"status": "ok"}', "\x1f\x8b\x08"]:
        with pytest.raises(NotExposition, match="Line 1 "):
            check_exposition(text)


def test_of_a_line_that_is_not_understood_only_the_beginning_is_shown():
    with pytest.raises(NotExposition) as fault:
        check_exposition("x" * 10_000 + "\x1b[31m")
    assert len(str(fault.value)) < 140
    with pytest.raises(NotExposition, match="�"):
        check_exposition("\x1b[31m")


def test_comments_and_empty_lines_are_none_and_neither_is_the_end_of_openmetrics():
    text = "# HELP m What it is: a # and a \\n.\n# TYPE m counter\n#\n   # indented\n\nm 1\n# EOF\n"
    check_exposition(text)
    assert [each.value for each in samples_of(text, {"m"})] == [1]


def test_only_lines_with_a_wanted_name_are_read():
    text = 'm_total 1\nm{a="b"} 2\nbroken{ 3\nother 4\n'
    assert [each.value for each in samples_of(text, {"m"})] == [2]


def test_a_hostile_line_takes_no_time():
    began = time.process_time()
    for line in ('m{a="' + '\\"' * 50_000, "m{" + '"a"' * 50_000, "m " + "1 " * 50_000):
        with pytest.raises(NotExposition):
            check_exposition(line)
    assert time.process_time() - began < 2
