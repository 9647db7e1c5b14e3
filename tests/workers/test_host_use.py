"""What a host announces of its machine: of whom its CPU time is, and by which names."""

from pathlib import Path

import pytest

from workers.host_use import DEMO_TARGET, ITSELF, HostWatch, short_name

pytestmark = pytest.mark.pure
WORKER = 10


class Proc:
    """A folder such as /proc, of a machine with two cores; all numbers are ticks of 10 ms."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.write("loadavg", "5.25 3.00 1.00 2/300 4711\n")
        self.cpu()
        self.process(WORKER, 1, "/usr/bin/python3\0-m\0celery\0")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def cpu(self, *, user: int = 0, idle: int = 0, steal: int = 0) -> None:
        first = f"{user} 0 0 {idle} 0 0 0 {steal} 0 0\n"
        self.write("stat", f"cpu  {first}cpu0 {first}cpu1 0 0 0 0 0 0 0 0 0 0\n")

    def process(
        self,
        pid: int,
        parent: int,
        command: str = "prog\0",
        *,
        ticks: int = 0,
        children_ticks: int = 0,
    ) -> None:
        words = ["S", parent, *[0] * 9, ticks, 0, children_ticks, 0, 0, 0, 1, 0, 100, 0, 0]
        self.write(f"{pid}/stat", f"{pid} (prog) {' '.join(map(str, words))}\n")
        self.write(f"{pid}/cmdline", command)
        self.write(f"{pid}/comm", "prog\n")


@pytest.fixture
def proc(tmp_path):
    return Proc(tmp_path)


def use_of(proc: Proc) -> HostWatch:
    return HostWatch(WORKER, str(proc.folder))


def cores_by_name(use: dict) -> dict[str, float]:
    return {each["name"]: each["cores"] for each in use["programs"]}


def test_what_injectors_use_is_not_of_others_also_when_they_have_ended(proc):
    proc.process(20, WORKER, "python3\0-m\0celery\0")
    proc.process(30, 20, "python3\0-m\0workers.injector\0")
    use = use_of(proc)
    proc.process(30, 20, "python3\0-m\0workers.injector\0", ticks=400)
    proc.cpu(user=450, idle=550)
    facts = use.take()
    assert (facts["others_share"], facts["load_1min"], facts["cores"]) == (0.05, 5.25, 2)
    assert cores_by_name(facts) == {}
    (proc.folder / "30/stat").unlink()
    proc.process(
        20, WORKER, "python3\0-m\0celery\0", children_ticks=500
    )  # 100 since the last reading
    proc.cpu(user=600, idle=1400)
    assert use.take()["others_share"] == 0.05


def test_the_three_programs_that_use_most_are_named(proc):
    for pid in range(40, 46):
        proc.process(pid, 1, f"/opt/p{pid}\0")
    use = use_of(proc)
    for pid, ticks in zip(range(40, 46), (450, 20, 100, 100, 30, 60), strict=True):
        proc.process(pid, 1, "/opt/web\0" if pid in (42, 43) else f"/opt/p{pid}\0", ticks=ticks)
    proc.cpu(user=760, idle=140, steal=100)
    facts = use.take()
    assert cores_by_name(facts) == {"p40": 0.9, "web": 0.4, "p45": 0.12}
    assert (facts["others_share"], facts["steal_share"]) == (0.76, 0.1)


def test_what_a_program_started_and_has_ended_is_its_own(proc):
    proc.process(40, 1, "/usr/bin/make\0")
    proc.process(41, 40, "/usr/bin/cc\0", ticks=100)
    use = use_of(proc)
    (proc.folder / "41/stat").unlink()
    proc.process(40, 1, "/usr/bin/make\0", children_ticks=500)  # 100 of them before
    proc.cpu(user=400, idle=600)
    assert cores_by_name(use.take()) == {"make": 0.8}


@pytest.mark.parametrize(
    ("heir", "parent", "name", "ticks"),
    [
        (40, 1, "bash", 5500),  # 5400 of them before
        (1, 0, "init", 5100),  # which adopts what outlived its parent, 5000 of them before
    ],
)
def test_a_tree_of_programs_that_ends_used_only_what_it_used_since_the_last_reading(
    proc, heir, parent, name, ticks
):
    proc.process(1, 0, "/sbin/init\0")
    proc.process(40, 1, "/bin/bash\0")
    proc.process(41, 40, "/usr/bin/make\0", ticks=100, children_ticks=300)
    proc.process(42, 41, "/usr/bin/cc\0", ticks=5000)
    use = use_of(proc)
    for pid in (41, 42):
        (proc.folder / f"{pid}/stat").unlink()
    proc.process(heir, parent, f"/bin/{name}\0", children_ticks=ticks)
    proc.cpu(user=100, idle=900)
    assert cores_by_name(use.take()) == {name: 0.2}


def test_a_program_below_a_twentieth_of_a_core_is_not_named(proc):
    use = use_of(proc)
    proc.process(40, 1, ticks=25)
    proc.cpu(user=25, idle=975)
    assert use.take()["programs"] == []


def test_what_make_run_has_started_is_benchsite_itself(proc):
    proc.process(5, 1, "python3\0-m\0local\0run\0")
    proc.process(WORKER, 5, "python3\0-m\0celery\0")
    use = use_of(proc)
    proc.process(50, 5, "postgres: benchsite benchsite [local] SELECT\0", ticks=50)
    proc.process(51, 5, "python3\0-m\0gunicorn\0", ticks=50)
    proc.process(52, 5, "python3\0-m\0workers.echo\0--http-port\00\0", ticks=200)
    proc.process(53, 1, "python3\0-m\0gunicorn\0", ticks=100)
    proc.cpu(user=400, idle=600)
    assert cores_by_name(use.take()) == {DEMO_TARGET: 0.4, ITSELF: 0.2, "python3 gunicorn": 0.2}


def test_a_machine_that_tells_nothing_is_not_known(tmp_path):
    assert HostWatch(WORKER, str(tmp_path / "missing")).take() is None
    assert HostWatch(WORKER, str(tmp_path)).take() is None


def test_a_name_has_the_program_and_its_script_and_no_other_argument():
    for arguments, name in [
        (["/usr/bin/python3", "/home/me/report.py", "--password", "s3cret"], "python3 report.py"),
        (["python3.13", "-u", "-B", "report.py"], "python3.13 report.py"),
        (["python3", "-m", "http.server", "s3cret"], "python3 http.server"),
        (["python3", "-c", "s3cret"], "python3"),
        (["python3", "-W", "s3cret", "x.py"], "python3"),
        (["python3", "-Xs3cret"], "python3"),
        (["bash", "-s", "s3cret"], "bash"),
        (["perl", "-E", "s3cret"], "perl"),
        (["php", "-d", "s3cret"], "php"),
        (["node", "/srv/app/server.js", "s3cret"], "node server.js"),
        (["/opt/chromium", "https://s3cret@host/"], "chromium"),
        (["mysql", "s3cret"], "mysql"),
        (["postgres: user s3cret 10.0.0.1 SELECT"], "comm"),
        (["sshd: s3cret@pts/0"], "comm"),
        (["python3", "a s3cret.py"], "python3"),
        ([""], "comm"),
    ]:
        assert short_name(arguments, "comm") == name


def test_a_name_is_short_and_printable():
    assert len(short_name(["python3", "x" * 200], "")) == 40
    assert short_name([""], "a\x1b[31m\u202eb") == "a?[31m?b"
    assert short_name([""], "") == "a program"
