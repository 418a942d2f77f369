from __future__ import annotations

import os
import select

from gpu_discovery.core.kit import watch


def make_config_map(folder, content):
    """A mounted ConfigMap: ``config.yaml`` → ``..data/config.yaml``, ``..data`` → a folder named for its time."""
    (folder / "..first").mkdir(parents=True)
    (folder / "..first" / "config.yaml").write_text(content)
    (folder / "..data").symlink_to("..first")
    (folder / "config.yaml").symlink_to("..data/config.yaml")
    return folder / "config.yaml"


def swap_config_map(folder, content):
    """What the kubelet does on an update: a new folder, and the link renamed over the old one."""
    (folder / "..second").mkdir()
    (folder / "..second" / "config.yaml").write_text(content)
    (folder / "..new").symlink_to("..second")
    os.rename(folder / "..new", folder / "..data")


def is_told(watched):
    """The kernel has something for us within a second."""
    return bool(select.select([watched.fd], [], [], 1)[0]) and watched.has_news()


def test_the_swap_of_a_config_map_is_told_and_changes_the_signature(tmp_path):
    """The visible file is never touched: only the symlink to its folder is replaced."""
    path = str(make_config_map(tmp_path / "config", "a"))
    watched = watch.open_file_watch()
    assert watched is not None
    watched.watch(path)
    before = watch.file_signature(path)
    assert not watched.has_news()
    swap_config_map(tmp_path / "config", "a")
    assert is_told(watched)
    assert watch.file_signature(path) != before
    watched.close()


def test_a_chain_of_links_is_watched_to_its_end(tmp_path):
    """A link to a file in another folder, as a config-manager sets it: both folders are watched."""
    (tmp_path / "config").mkdir()
    make_config_map(tmp_path / "available", "a")
    (tmp_path / "config" / "config.yaml").symlink_to(tmp_path / "available" / "config.yaml")
    folders = watch.folders_behind(str(tmp_path / "config" / "config.yaml"))
    assert {str(tmp_path / "config"), str(tmp_path / "available"), str(tmp_path / "available" / "..first")} <= set(
        folders
    )


def test_a_file_that_appears_later_is_told(tmp_path):
    """The folder is there, the file is not yet."""
    path = str(tmp_path / "config.yaml")
    watched = watch.open_file_watch()
    assert watched is not None
    watched.watch(path)
    assert watch.file_signature(path) is None
    (tmp_path / "config.yaml").write_text("a")
    assert is_told(watched)
    assert watch.file_signature(path) is not None
    watched.close()


def test_an_edit_in_place_changes_the_signature(tmp_path):
    """Same file, same length, other content."""
    path = tmp_path / "config.yaml"
    path.write_text("a")
    os.utime(path, (1, 1))
    before = watch.file_signature(str(path))
    path.write_text("b")
    assert watch.file_signature(str(path)) != before


def test_what_happens_beside_the_file_is_no_news(tmp_path):
    """Other files of the folder come and go."""
    (tmp_path / "config.yaml").write_text("a")
    watched = watch.open_file_watch()
    assert watched is not None
    watched.watch(str(tmp_path / "config.yaml"))
    (tmp_path / "other").write_text("x")
    assert select.select([watched.fd], [], [], 1)[0]
    assert not watched.has_news()
    watched.close()


def test_a_second_swap_is_told_like_the_first(tmp_path):
    """After a swap the new folders are watched."""
    path = str(make_config_map(tmp_path / "config", "a"))
    watched = watch.open_file_watch()
    assert watched is not None
    watched.watch(path)
    swap_config_map(tmp_path / "config", "b")
    assert is_told(watched)
    (tmp_path / "config" / "..second" / "config.yaml").write_text("edited in its folder")
    assert is_told(watched)
    watched.close()


def test_a_watch_can_move_and_end(tmp_path):
    """Another file, a file in a folder that is not there, and none: the one before is silent."""
    first, second = tmp_path / "a" / "file", tmp_path / "b" / "file"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text("x")
    watched = watch.open_file_watch()
    assert watched is not None
    watched.watch(str(first))
    watched.watch(str(second))
    first.write_text("longer")
    assert not watched.has_news()
    second.write_text("longer")
    assert is_told(watched)
    watched.watch(str(tmp_path / "missing" / "file"))
    watched.watch(None)
    second.write_text("even longer")
    assert not watched.has_news()
    watched.close()


def test_a_circle_of_links_ends(tmp_path):
    """Links that lead to themselves are not followed for ever, and there is no file."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert watch.folders_behind(str(tmp_path / "a")) == (str(tmp_path),)
    assert watch.file_signature(str(tmp_path / "a")) is None


def test_device_events_are_silent_without_events():
    """Where the kernel lets us listen, nothing happening is no news."""
    events = watch.open_device_events([b"no-such-word-in-any-event"])
    if events is not None:
        assert not events.has_news()
        events.close()
