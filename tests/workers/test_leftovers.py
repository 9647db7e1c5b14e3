import errno
import os
import time
from pathlib import Path

import pytest
from django.db import OperationalError

from campaigns.engine.services import dispatch
from campaigns.models import Run
from tests.engine.scenes import end, expire, running, second
from tests.workers.launching import read_only
from workers import spool as leftovers
from workers.spool import EMPTY_FOR_S, Spool, store_leftovers


@pytest.fixture
def folder(settings, tmp_path):
    settings.SPOOL_DIR = tmp_path
    return tmp_path


def left_behind(lease, *records):
    spool = Spool.create(lease)
    for record in records:
        spool.append(record)
    spool.close(is_stored=False)
    return spool.path


def line_of(number: int) -> dict:
    return {"type": "second", **second(number)}


def test_a_dead_launchers_seconds_are_stored_and_its_shard_is_lost(project, folder):
    run, (lease,) = running(project)
    left_behind(lease, line_of(0), line_of(1))
    assert store_leftovers() == 1
    shard = run.shards.get()
    assert run.seconds.count() == 2
    assert (shard.state, shard.reason) == ("lost", leftovers.KILLED)


def test_a_launcher_that_died_after_the_end_had_done_its_shard(project, folder):
    run, (lease,) = running(project)
    left_behind(lease, line_of(0), end().to_json())
    store_leftovers()
    assert run.shards.get().state == "done"


def test_the_seconds_of_a_shard_that_was_given_up_are_late_but_welcome(project, folder):
    run, (lease,) = running(project)
    left_behind(lease, line_of(0))
    expire(run)
    dispatch.reap_shards()
    store_leftovers()
    assert run.seconds.count() == 1


def test_a_living_launchers_file_is_left_alone(project, folder):
    run, (lease,) = running(project)
    spool = Spool.create(lease)
    spool.append(line_of(0))
    assert store_leftovers() == 0
    assert not run.seconds.exists()
    spool.close(is_stored=False)


def test_a_file_of_an_older_claim_is_dropped(project, folder):
    run, (lease,) = running(project)
    run.shards.update(epoch=9)
    left_behind(lease, line_of(0))
    store_leftovers()
    assert not run.seconds.exists()
    assert not list(folder.glob("*.spool"))


def test_files_are_kept_until_their_run_is_done(project, folder):
    run, (lease,) = running(project)
    left_behind(lease, line_of(0))
    store_leftovers()
    assert [path.suffix for path in folder.iterdir()] == [".stored"]
    Run.objects.filter(pk=run.pk).update(ended_at=run.state_at)
    store_leftovers()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("why", [OperationalError("gone"), OSError(errno.EMFILE, "no file left")])
def test_without_postgresql_the_files_stay(project, folder, monkeypatch, why):
    _, (lease,) = running(project)
    path = left_behind(lease, line_of(0))

    def away(*_):
        raise why

    monkeypatch.setattr(leftovers, "store_lines", away)
    with pytest.raises(type(why)):
        store_leftovers()
    assert path.exists()


def test_a_file_that_cannot_be_stored_is_put_aside_and_keeps_nobody(project, folder):
    run, (lease,) = running(project)
    (folder / "0-0-0.spool").write_bytes(left_behind(lease, {"type": "second"}).read_bytes())
    path = left_behind(lease)
    path.unlink()
    left_behind(lease, line_of(0))
    assert store_leftovers() == 1
    assert run.seconds.count() == 1
    assert [path.name for path in folder.glob("*.broken")] == ["0-0-0.broken"]


def test_a_file_that_the_disk_does_not_give_back_is_put_aside(project, folder, monkeypatch):
    _, (lease,) = running(project)
    path = left_behind(lease, line_of(0))

    def unreadable(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(leftovers.Spool, "records", unreadable)
    assert store_leftovers() == 0
    assert path.with_suffix(".broken").exists()


def test_on_a_read_only_disk_the_seconds_are_stored_and_the_files_go_later(
    project, folder, monkeypatch
):
    run, (lease,) = running(project)
    path = left_behind(lease, line_of(0), line_of(1))

    with monkeypatch.context() as disk:
        disk.setattr(Path, "rename", read_only)
        disk.setattr(Path, "unlink", read_only)
        store_leftovers()
        store_leftovers()
        assert run.seconds.count() == 2
        assert path.exists()
    Run.objects.filter(pk=run.pk).update(ended_at=run.state_at)
    store_leftovers()
    assert list(folder.iterdir()) == []


def test_on_a_read_only_disk_a_file_that_cannot_be_stored_keeps_nobody(
    project, folder, monkeypatch
):
    """A bad sector often makes the disk read-only as well."""
    run, (lease,) = running(project)
    (folder / "0-0-0.spool").write_bytes(left_behind(lease, {"type": "second"}).read_bytes())
    left_behind(lease).unlink()
    left_behind(lease, line_of(0))
    monkeypatch.setattr(Path, "rename", read_only)
    assert store_leftovers() == 1
    assert run.seconds.count() == 1


def test_an_empty_file_is_dropped_when_its_launcher_is_surely_gone(db, folder):
    path = folder / "1-0-1.spool"
    path.touch()
    store_leftovers()
    assert path.exists()
    long_ago = time.time() - EMPTY_FOR_S - 1
    os.utime(path, (long_ago, long_ago))
    store_leftovers()
    assert not path.exists()
