from __future__ import annotations

import errno
import fcntl
import os
import resource
import stat
import subprocess
import sys
import textwrap

import pytest

from gpu_discovery.core.kit import files


def test_write_replaces_the_whole_content(tmp_path):
    """A shorter write leaves nothing of the longer content before it, and no other file."""
    path = tmp_path / "gfd"
    files.write_atomic(str(path), b"a" * 10_000)
    files.write_atomic(str(path), b"short\n")
    assert path.read_bytes() == b"short\n"
    assert os.listdir(tmp_path) == ["gfd"]


def test_permissions_do_not_depend_on_the_umask(tmp_path):
    """Readers with other users can read the file under the strictest umask."""
    path = tmp_path / "gfd"
    before = os.umask(0o077)
    try:
        files.write_atomic(str(path), b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_symlink_at_the_target_is_replaced_and_not_followed(tmp_path):
    """What a planted symlink points to keeps its content; the link becomes our file."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = tmp_path / "gfd"
    path.symlink_to(victim)
    files.write_atomic(str(path), b"labels")
    assert victim.read_text() == "precious"
    assert not path.is_symlink()
    assert path.read_bytes() == b"labels"


def test_a_symlink_as_folder_is_followed(tmp_path):
    """The folder may be reached through a symlink, as administrators set them up."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    files.write_atomic(str(tmp_path / "link" / "gfd"), b"x")
    assert (tmp_path / "real" / "gfd").read_bytes() == b"x"


def test_a_missing_folder_is_an_error_that_names_the_target(tmp_path):
    """The folder is not created, and the error carries the path that was asked for."""
    path = str(tmp_path / "missing" / "gfd")
    with pytest.raises(FileNotFoundError) as caught:
        files.write_atomic(path, b"x")
    assert caught.value.filename == path
    assert os.listdir(tmp_path) == []


def test_a_folder_at_the_target_is_an_error_and_leaves_no_temporary_file(tmp_path):
    """The rename fails, the folder and its content stay, the temporary file goes."""
    (tmp_path / "gfd").mkdir()
    (tmp_path / "gfd" / "inside").write_text("x")
    with pytest.raises(OSError, match="directory"):
        files.write_atomic(str(tmp_path / "gfd"), b"x")
    assert os.listdir(tmp_path) == ["gfd"]
    assert os.listdir(tmp_path / "gfd") == ["inside"]


def test_a_write_cut_short_keeps_the_old_content(tmp_path):
    """When the data can't be written whole, the target is untouched and no temporary file stays."""
    path = tmp_path / "gfd"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            files.write_atomic(str(path), b"x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["gfd"]


def test_a_killed_writer_leaves_the_old_content_and_the_next_write_cleans_up(tmp_path):
    """kill -9 between write and rename: the old file is whole, and the temporary file goes with the next write."""
    path = tmp_path / "gfd"
    path.write_text("old")
    program = """
        import os, signal, sys
        from gpu_discovery.core.kit import files
        os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)
        files.write_atomic(sys.argv[1], b"new")
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False)
    assert ended.returncode == -9
    assert path.read_text() == "old"
    assert len(os.listdir(tmp_path)) == 2
    files.write_atomic(str(path), b"new")
    assert os.listdir(tmp_path) == ["gfd"]


def test_a_temporary_file_in_use_and_files_of_others_stay(tmp_path):
    """Only temporary files of this target whose writer is gone are removed."""
    busy = tmp_path / ".gfd.0123456789abcdef.tmp"
    abandoned = tmp_path / ".gfd.fedcba9876543210.tmp"
    others = [".gfd.notours.tmp", ".other.0123456789abcdef.tmp", "gfd.0123456789abcdef.tmp"]
    for name in (busy.name, abandoned.name, *others):
        (tmp_path / name).write_text("x")
    with open(busy) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        files.write_atomic(str(tmp_path / "gfd"), b"x")
    assert sorted(os.listdir(tmp_path)) == sorted(["gfd", busy.name, *others])


def test_reading_refuses_what_is_not_a_regular_file_of_bounded_size(tmp_path):
    """A symlink, a pipe, a folder, a large file and a missing one are all None, and none blocks."""
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    read = {name: files.read_regular(str(tmp_path / name), 5) for name in ("file", "link", "pipe", "missing")}
    assert read["file"] is not None
    assert read["file"][0] == b"12345"
    assert (read["link"], read["pipe"], read["missing"]) == (None, None, None)
    assert files.read_regular(str(tmp_path / "file"), 4) is None
    assert files.read_regular(str(tmp_path), 5) is None


def test_remove_takes_the_link_and_not_its_target(tmp_path):
    """Removing a planted symlink does not remove the file behind it; removing nothing is no error."""
    (tmp_path / "victim").write_text("x")
    (tmp_path / "gfd").symlink_to("victim")
    assert files.remove(str(tmp_path / "gfd")) is True
    assert files.remove(str(tmp_path / "gfd")) is False
    assert (tmp_path / "victim").read_text() == "x"
