from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import textwrap

import pytest

from gpu_discovery.core import errors
from gpu_discovery.sinks import feature_file
from tests.fakes import clock as clocks

LABELS = {"nvidia.com/gpu.product": "Tesla-T4", "nvidia.com/gpu.count": "2"}
BODY = "nvidia.com/gpu.count=2\nnvidia.com/gpu.product=Tesla-T4\n"
CAN_MOUNT = subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0


@pytest.fixture
def clock():
    """A clock that stands still."""
    return clocks.Clock(1_700_000_000.0)


@pytest.fixture
def path(tmp_path):
    """Where the file goes."""
    return tmp_path / "gfd"


def test_the_file_holds_the_labels_sorted(path):
    """One line per label by key, readable by everybody."""
    assert feature_file.FeatureFile(str(path)).publish(LABELS) is True
    assert path.read_text() == BODY
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_an_unchanged_file_is_not_written(path):
    """The same labels again, from this process or a new one, touch nothing."""
    feature_file.FeatureFile(str(path)).publish(LABELS)
    before = path.stat()
    assert feature_file.FeatureFile(str(path)).publish(dict(reversed(LABELS.items()))) is False
    assert path.stat() == before


@pytest.mark.parametrize("damage", ["deleted", "edited", "unreadable", "symlink", "grown"])
def test_what_somebody_did_to_the_file_is_put_right(path, damage):
    """Deleted, edited, closed to readers, replaced by a link to a copy, or blown up: the next publish mends it."""
    sink = feature_file.FeatureFile(str(path))
    sink.publish(LABELS)
    if damage == "deleted":
        path.unlink()
    elif damage == "edited":
        path.write_text(BODY + "nvidia.com/gpu.count=9\n")
    elif damage == "unreadable":
        path.chmod(0o600)
    elif damage == "symlink":
        path.rename(path.with_name("copy"))
        path.symlink_to("copy")
    else:
        path.write_bytes(b"x" * 1_000_000)
    assert sink.publish(LABELS) is True
    assert path.read_text() == BODY
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert sink.publish(LABELS) is False


def test_published_reads_what_is_there_whoever_wrote_it(path):
    """Comments, blank lines, spaces around a line, bare keys and bytes that are no text don't hinder it."""
    path.write_bytes(b"# +expiry-time=2030-01-01T00:00:00Z\n\n  a=b=c  \nbare\nempty=\n\xff=x\r\n")
    assert feature_file.FeatureFile(str(path)).published() == {"a": "b=c", "bare": "true", "empty": "", "\ufffd": "x"}


def test_nothing_is_published_where_no_file_is(path):
    """No file, a folder, and a file over the limit are not what somebody published."""
    sink = feature_file.FeatureFile(str(path))
    assert sink.published() is None
    path.mkdir()
    assert sink.published() is None
    path.rmdir()
    path.write_bytes(b"a=b\n" * 20_000)
    assert sink.published() is None


def test_with_an_expiry_the_file_is_written_again_at_half_its_life(path, clock):
    """Ten minutes of life: no write for five minutes, then one, which is no news as the labels are the same."""
    sink = feature_file.FeatureFile(str(path), 600, clock=clock)
    assert sink.publish(LABELS) is True
    assert path.read_text() == "# +expiry-time=2023-11-14T22:23:20Z\n" + BODY
    clock.now += 299
    assert sink.publish(LABELS) is False
    assert sink.refresh_in_s() == 1
    clock.now += 1
    assert sink.refresh_in_s() == 0
    assert sink.publish(LABELS) is False
    assert path.read_text() == "# +expiry-time=2023-11-14T22:28:20Z\n" + BODY


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# +expiry-time=2099-01-01T00:00:00Z\n",
        "# +expiry-time=2023-99-01T00:00:00Z\n",
        "# +expiry-time=never\n",
    ],
)
def test_an_expiry_that_is_not_ours_is_put_right(path, clock, line):
    """None, one too far off (the clock was wrong, or the option changed) and nonsense are written anew."""
    path.write_text(line + BODY)
    path.chmod(0o644)
    feature_file.FeatureFile(str(path), 600, clock=clock).publish(LABELS)
    assert path.read_text() == "# +expiry-time=2023-11-14T22:23:20Z\n" + BODY


def test_without_the_option_an_expiry_goes(path, clock):
    """When the option is switched off, the line goes with the next publish, and nothing needs refreshing."""
    feature_file.FeatureFile(str(path), 600, clock=clock).publish(LABELS)
    sink = feature_file.FeatureFile(str(path), clock=clock)
    assert sink.publish(LABELS) is True
    assert path.read_text() == BODY
    assert sink.refresh_in_s() == float("inf")


def test_more_than_nfd_reads_is_refused(path):
    """A file that NFD would ignore is an error, and the old file stays."""
    sink = feature_file.FeatureFile(str(path))
    sink.publish(LABELS)
    with pytest.raises(errors.PublishFailed, match="65536"):
        sink.publish({f"key-{number}": "x" * 60 for number in range(1000)})
    assert path.read_text() == BODY


def test_no_labels_are_a_file_too(path):
    """An empty one, also in place of a symlink."""
    path.symlink_to("elsewhere")
    assert feature_file.FeatureFile(str(path)).publish({}) is True
    assert path.read_bytes() == b""
    assert not path.is_symlink()


def test_removing_takes_the_file_and_the_folder_of_the_reference(path):
    """The reference's temporary folder goes too, when it holds files only; removing again is no error."""
    sink = feature_file.FeatureFile(str(path))
    sink.publish(LABELS)
    leftover = path.with_name("gfd-tmp")
    leftover.mkdir()
    (leftover / "gfd-123").write_text("half")
    sink.remove()
    sink.remove()
    assert os.listdir(path.parent) == []


def test_what_earlier_processes_left_goes_although_nothing_is_to_be_written(path):
    """A killed writer's temporary file, and the reference's folder, where the labels are already those."""
    feature_file.FeatureFile(str(path)).publish(LABELS)
    path.with_name(".gfd.0123456789abcdef.tmp").write_text("half")
    path.with_name("gfd-tmp").mkdir()
    assert feature_file.FeatureFile(str(path)).publish(LABELS) is False
    assert os.listdir(path.parent) == ["gfd"]


def test_a_leftover_folder_that_is_not_the_reference_s_stays(path, tmp_path):
    """A symlink of that name is not followed, and a folder with folders in it is not touched."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    (tmp_path / "gfd-tmp").symlink_to("precious")
    feature_file.FeatureFile(str(path)).publish(LABELS)
    assert (tmp_path / "precious" / "file").read_text() == "x"
    (tmp_path / "gfd-tmp").unlink()
    (tmp_path / "gfd-tmp" / "deep").mkdir(parents=True)
    (tmp_path / "gfd-tmp" / "file").write_text("x")
    feature_file.FeatureFile(str(path)).remove()
    assert sorted(os.listdir(tmp_path / "gfd-tmp")) == ["deep", "file"]


def make_missing_folder(tmp_path):
    """The folder of the file is not there."""
    return tmp_path / "features.d" / "gfd"


def make_file_as_folder(tmp_path):
    """The folder of the file is a file."""
    (tmp_path / "features.d").write_text("x")
    return tmp_path / "features.d" / "gfd"


def make_folder_as_file(tmp_path):
    """A folder stands where the file should."""
    (tmp_path / "gfd").mkdir()
    return tmp_path / "gfd"


def make_circle(tmp_path):
    """The folder is a symlink to itself."""
    (tmp_path / "features.d").symlink_to("features.d")
    return tmp_path / "features.d" / "gfd"


def make_long_name(tmp_path):
    """The name is longer than file systems take."""
    return tmp_path / ("g" * 250)


@pytest.mark.parametrize(
    ("make", "cause", "says"),
    [
        (make_missing_folder, "file: ENOENT", "features.d is missing; mount"),
        (make_file_as_folder, "file: ENOTDIR", "features.d is not a folder"),
        (make_folder_as_file, "file: EISDIR", "there is a folder of that name"),
        (make_circle, "file: ELOOP", "in a circle"),
        (make_long_name, "file: ENAMETOOLONG", "too long"),
    ],
)
def test_what_stands_in_the_way_is_named(tmp_path, make, cause, says):
    """Each obstacle is an error with a stable cause, the path, and what to do."""
    path = str(make(tmp_path))
    with pytest.raises(errors.PublishFailed, match=says) as caught:
        feature_file.FeatureFile(path).publish(LABELS)
    assert caught.value.cause == cause
    assert path in str(caught.value)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.EROFS, "read-only"),
        (errno.ENOSPC, "disk is full"),
        (errno.EACCES, "SELinux"),
        (errno.EBUSY, "mount its folder"),
        (errno.EXDEV, "Invalid cross-device link"),
    ],
)
def test_every_error_of_the_system_says_what_to_do(code, says):
    """Known codes carry advice, unknown ones the system's own words; the cause is the code's name."""
    failed = feature_file.publish_failed("writing", "/features.d/gfd", OSError(code, os.strerror(code)))
    assert says in str(failed)
    assert failed.cause == f"file: {errno.errorcode[code]}"


if CAN_MOUNT:  # Where mounting is allowed, the real thing as well.

    @pytest.mark.parametrize(
        ("options", "filler", "cause"), [("size=64k", 100_000, "file: ENOSPC"), ("ro", 0, "file: EROFS")]
    )
    def test_a_full_and_a_read_only_disk(tmp_path, options, filler, cause):
        """On a real full or read-only file system the error is told and the folder holds no rest."""
        program = """
            import contextlib, os, sys
            from gpu_discovery.core import errors
            from gpu_discovery.sinks import feature_file
            folder, filler, cause = sys.argv[1], int(sys.argv[2]), sys.argv[3]
            if filler:
                with contextlib.suppress(OSError), open(folder + "/filler", "wb", buffering=0) as file:
                    while file.write(b"x" * 4096):
                        pass
            try:
                feature_file.FeatureFile(folder + "/gfd").publish({"key": "x" * 5000})
            except errors.PublishFailed as failed:
                assert failed.cause == cause, failed.cause
            else:
                raise AssertionError("published")
            assert os.listdir(folder) == (["filler"] if filler else [])
        """
        run = 'mount -t tmpfs -o "$1" none "$2" && shift && exec "$PYTHON" -c "$PROGRAM" "$@"'
        ended = subprocess.run(
            ["unshare", "-m", "sh", "-c", run, "sh", options, str(tmp_path), str(filler), cause],
            env={**os.environ, "PYTHON": sys.executable, "PROGRAM": textwrap.dedent(program)},
            check=False,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr
