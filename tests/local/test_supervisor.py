"""Children are mended when they die and gone when we stop, whatever happens."""

import errno
import os
import signal
import time
from pathlib import Path

from local import supervisor
from tests.process_tree import children, is_alive
from tests.waiting import eventually

# Runs until it is told to stop, and prints what the supervisor has to tell.
SUPERVISE = """
import signal, sys
from pathlib import Path
from local.supervisor import Program, StopRequested, Supervisor
supervisor = Supervisor(Path(sys.argv[1]) / "log")
signal.signal(signal.SIGTERM, supervisor.request_stop)
def child(name, code, **options):
    supervisor.start(Program(name, (sys.executable, "-c", code), **options))
%s
print("pids", *supervisor.pids().values(), flush=True)
try:
    supervisor.wait(60)
except StopRequested:
    supervisor.stop_all()
    print("stopped", flush=True)
"""
SLEEP = "child('sleeper', 'import time; time.sleep(60)')"
STUBBORN = (
    "child('stubborn', 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    'print("deaf", flush=True); time.sleep(60)\', stop_signals=((signal.SIGTERM, 0.3),))'
)
# A grandchild in a session of its own, as an injector is.
PARENT = (
    'child(\'parent\', \'import subprocess, time; print(subprocess.Popen(["sleep", "60"], '
    "start_new_session=True).pid, flush=True); time.sleep(60)')"
)


def pids_of(process) -> list[int]:
    return [int(pid) for pid in process.stdout.readline().split()[1:]]


def text_in(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def stop(process) -> str:
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=20)
    return output


def test_a_killed_child_is_started_again_and_the_terminal_is_told(script):
    process = script.start(SUPERVISE % SLEEP)
    (pid,) = pids_of(process)
    os.kill(pid, signal.SIGKILL)
    line = process.stdout.readline()
    assert "sleeper was killed by SIGKILL; restarting it in 0.5 s" in line
    (again,) = eventually(lambda: children(process.pid), 10, "a new child")
    assert again != pid
    stop(process)


def test_a_child_that_keeps_dying_waits_longer_each_time(script):
    process = script.start(SUPERVISE % "child('hasty', 'raise SystemExit(3)')")
    process.stdout.readline()
    lines = [process.stdout.readline() for _ in range(3)]
    assert [line.split(" in ")[1].split()[0] for line in lines] == ["0.5", "1", "2"]
    assert all("exited with status 3" in line for line in lines)
    stop(process)


def test_a_child_that_has_kept_dying_for_a_day_is_still_started_again(script):
    failed = "; supervisor.children['hasty'].failures = 24 * 3600 // 30"
    process = script.start(SUPERVISE % f"child('hasty', 'raise SystemExit(3)'){failed}")
    process.stdout.readline()
    assert "restarting it in 30 s" in process.stdout.readline()
    stop(process)


def test_a_child_that_cannot_be_started_again_waits_and_ends_no_other(script, folder):
    """For want of processes, files or room; here its log has no folder any more."""
    process = script.start(SUPERVISE % f"child('calm', 'import time; time.sleep(60)'); {SLEEP}")
    calm, pid = pids_of(process)
    log = folder / "log"
    log.rename(folder / "away")
    os.kill(pid, signal.SIGKILL)
    assert "restarting it in 0.5 s" in process.stdout.readline()
    line = process.stdout.readline()
    assert line.startswith("sleeper cannot be started")
    assert "trying again in 1 s" in line
    assert is_alive(calm)
    (folder / "away").rename(log)
    eventually(lambda: len(children(process.pid)) == 2, 10, "a new child")
    stop(process)


def test_a_child_that_hangs_is_killed_and_started_again(script, folder):
    """Frozen, it neither dies nor ends at a signal; its file tells that it does nothing."""
    pulse = folder / "pulse"
    code = (
        f"import pathlib, time\nwhile True: pathlib.Path({str(pulse)!r}).touch(); time.sleep(0.1)"
    )
    process = script.start(
        SUPERVISE % f"child('busy', {code!r}, pulse=Path({str(pulse)!r}), silent_s=2.0)"
    )
    (pid,) = pids_of(process)
    eventually(pulse.exists, 10, "its first pulse")
    os.kill(pid, signal.SIGSTOP)
    assert "busy has done nothing for 2 s" in process.stdout.readline()
    assert "was killed by SIGKILL; restarting it" in process.stdout.readline()
    (again,) = eventually(lambda: children(process.pid), 10, "a new child")
    assert again != pid
    stop(process)


def test_a_child_that_takes_long_to_begin_is_left_alone(script, folder):
    """On a crowded machine a start takes minutes, and one that is killed begins anew."""
    pulse = folder / "pulse"
    pulse.touch()  # by the one before it
    code = (
        "import pathlib, time\ntime.sleep(1.5); print('begun', flush=True)\n"
        f"while True: pathlib.Path({str(pulse)!r}).touch(); time.sleep(0.1)"
    )
    process = script.start(
        SUPERVISE % f"child('slow', {code!r}, pulse=Path({str(pulse)!r}), silent_s=0.5)"
    )
    (pid,) = pids_of(process)
    eventually(lambda: text_in(folder / "log" / "slow.log") == "begun", 10, "it has begun")
    assert children(process.pid) == [pid]
    stop(process)


def test_a_child_gives_way_to_what_is_measured_also_across_sessions(script):
    process = script.start(
        SUPERVISE % (SLEEP + "\nchild('polite', 'import time; time.sleep(60)', gives_way=True)")
    )
    sleeper, polite = pids_of(process)

    def group(pid: int) -> str:
        path = Path(f"/proc/{pid}/autogroup")
        return path.read_text().split("nice")[1].strip() if path.exists() else "none"

    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, sleeper) == ours
    assert os.getpriority(os.PRIO_PROCESS, polite) == min(ours + 10, 19)
    if group(sleeper) != "none":  # a kernel without groups by session
        assert (group(sleeper), group(polite)) == ("0", "10")
    stop(process)


def test_stop_leaves_no_child_not_even_one_that_will_not_end(script, folder):
    process = script.start(SUPERVISE % f"{SLEEP}\n{STUBBORN}")
    pids = pids_of(process)
    eventually(lambda: text_in(folder / "log" / "stubborn.log") == "deaf", 10, "it is deaf")
    assert "stopped" in stop(process)
    assert not any(map(is_alive, pids))


def test_stop_finds_grandchildren_in_sessions_of_their_own(script, folder):
    process = script.start(SUPERVISE % PARENT)
    grandchild = int(eventually(lambda: text_in(folder / "log" / "parent.log"), 10, "a grandchild"))
    stop(process)
    assert not is_alive(grandchild)


def test_children_do_not_outlive_a_supervisor_that_is_killed(script):
    process = script.start(SUPERVISE % SLEEP)
    (pid,) = pids_of(process)
    process.kill()
    eventually(lambda: not is_alive(pid), 10, "the child is gone")


def test_a_child_does_not_hear_the_ctrl_c_of_the_terminal_and_its_log_is_its_owner_s(script):
    process = script.start(SUPERVISE % SLEEP)
    (pid,) = pids_of(process)
    assert os.getsid(pid) == pid
    assert (script.folder / "log").stat().st_mode & 0o777 == 0o700
    stop(process)


def test_logs_are_set_aside_while_their_program_goes_on(folder):
    path = folder / "web.log"
    with path.open("ab", buffering=0) as log:
        for number in range(5):
            log.write(b"%d" % number)
            supervisor.set_aside(path)
        log.write(b"goes on")
    texts = [(folder / f"web.log{suffix}").read_text() for suffix in ("", ".1", ".2", ".3")]
    assert texts == ["goes on", "4", "3", "2"]
    assert len(list(folder.iterdir())) == 4


def test_a_log_that_a_full_disk_cannot_keep_is_emptied_and_nothing_ends(folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(supervisor.shutil, "copyfile", full)
    path = folder / "web.log"
    path.write_bytes(b"0" * 100)
    supervisor.set_aside(path)
    assert path.read_bytes() == b""
    assert not (folder / "web.log.1").exists()


def test_a_log_that_grows_long_is_set_aside(script):
    grow = "watching.LONGEST_LOG_BYTES = 10\n"
    chatty = "child('chatty', 'import time; print(\"0\" * 100, flush=True); time.sleep(60)')"
    process = script.start(SUPERVISE % f"import local.supervisor as watching\n{grow}{chatty}")
    pids_of(process)
    eventually((script.folder / "log" / "chatty.log.1").exists, 10, "it is set aside")
    stop(process)


def test_a_log_that_cannot_be_set_aside_ends_nothing(script):
    refuse = "import local.supervisor as watching\ndef refuse(log): raise OSError(30, 'Read-only')"
    always = "watching.set_aside, watching.LONGEST_LOG_BYTES = refuse, 0"
    process = script.start(SUPERVISE % f"{SLEEP}\n{refuse}\n{always}")
    (pid,) = pids_of(process)
    time.sleep(0.5)
    assert is_alive(pid)
    assert stop(process).strip() == "stopped"


def test_a_launcher_that_drains_on_sigterm_is_killed_with_its_supervisor(script):
    """Celery finishes its run first, which may take hours; the load has to end with its parents."""
    process = script.start(
        SUPERVISE
        % (
            "from local.site import programs\n"
            "ours = programs({'BENCHSITE_VAR': ''}, gives_way=False)\n"
            "(launcher,) = [each for each in ours if each.name == 'launcher']\n"
            "child('launcher', 'import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); "
            "time.sleep(60)', death_signal=launcher.death_signal)"
        )
    )
    (pid,) = pids_of(process)
    process.kill()
    eventually(lambda: not is_alive(pid), 2, "the launcher is gone")
