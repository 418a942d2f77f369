from __future__ import annotations

import itertools
import math
import os
import signal

import pytest

from gpu_discovery import settings as labeler_settings
from gpu_discovery.core import errors
from gpu_discovery.core.config import types as config_types
from gpu_discovery.sinks import lines
from tests.fakes import host, machinery, nvml

T4 = nvml.make_gpu(board="t4")


class Node:
    """A node with one T4 whose driver, bus and labeler a test changes."""

    def __init__(self, tmp_path, driver):
        self.driver = driver
        self.host = host.make_host_root(tmp_path / "host", gpus=[T4])
        self.output = tmp_path / "gfd"
        self.settings = labeler_settings.LabelerSettings(
            output_file=str(self.output),
            host_root=self.host.path,
            driver_root_ctr_path=driver.root,
            machine_type_file="/sys/class/dmi/id/product_name",
        )
        self.answer("SUCCESS")

    def answer(self, init, **overrides):
        """What NVML says from now on."""
        self.driver.write(nvml.make_machine([T4], **{"init": init} | overrides))

    def virtual(self, **overrides):
        """A run with these settings."""
        self.settings = machinery.changed(self.settings, **overrides)
        return machinery.VirtualMachinery(self.settings)

    @property
    def labels(self):
        """What is published."""
        return lines.parse(self.output.read_text()) if self.output.exists() else None


@pytest.fixture
def node(tmp_path, fake_driver):
    """A node in order."""
    return Node(tmp_path, fake_driver)


def make_late_node(node):
    """T12: no library, at 60 s the library without a driver, at 120 s the driver."""
    node.host.unload_driver()
    node.driver.uninstall()

    def install():
        node.driver.write(nvml.make_machine([T4], init="DRIVER_NOT_LOADED"))

    def load():
        node.host.load_driver("535.129.03")
        node.answer("SUCCESS")

    return install, load


def test_t12_a_driver_that_arrives_late_is_waited_for(node):
    """Not ready with the reason until the driver is there, then labels, within 5 s and without a restart."""
    install, load = make_late_node(node)
    run = node.virtual(fail_on_init_error=False, sleep_interval_s=10.0)
    run.at(60, install)
    run.at(120, load)
    seen = {}
    for time_s in (30, 119.9, 125):
        run.at(time_s, lambda time_s=time_s: seen.update({time_s: node.labels}))
    assert run.run(until_s=200) == 0
    assert "nvidia.com/gpu.count" not in seen[30]
    assert "nvidia.com/gpu.count" not in seen[119.9]
    assert seen[125]["nvidia.com/gpu.product"] == "Tesla-T4"
    assert all(reason for time_s, reason in run.unready_at.items() if time_s < 120)
    assert not any(reason for time_s, reason in run.unready_at.items() if time_s > 125)
    assert run.restarts == []


def test_t12_a_says_each_cause_once(node):
    """Two minutes of waiting are a line per cause, not per pass."""
    install, load = make_late_node(node)
    run = node.virtual(fail_on_init_error=False, sleep_interval_s=10.0)
    run.at(60, install)
    run.at(120, load)
    run.run(until_s=200)
    warnings = [line for line in run.log_lines if line.startswith("WARNING")]
    assert len(warnings) <= 4
    assert any("nvml-missing" in line for line in warnings)
    assert any("driver-not-loaded" in line for line in warnings)
    assert any(line.startswith("INFO recovered cause=discovery") for line in run.log_lines)


def test_t12_b_with_fail_on_init_error_the_process_ends_at_once(node):
    """Exit 1 at 0 s with one line, and nothing published."""
    make_late_node(node)
    run = node.virtual(sleep_interval_s=10.0)
    assert run.run() == 1
    assert run.now() == 0.0
    assert [line.split(" ")[0] for line in run.log_lines] == ["ERROR"]
    assert node.labels is None


@pytest.mark.parametrize("fails", [True, False])
def test_t12_c_exit_after_gives_the_driver_time(node, fails):
    """Exit 1 at 90 s when no pass was good until then, whatever --fail-on-init-error says."""
    install, load = make_late_node(node)
    run = node.virtual(fail_on_init_error=fails, exit_after_s=90.0, sleep_interval_s=10.0)
    run.at(60, install)
    run.at(120, load)
    assert run.run() == 1
    assert run.now() == 90.0
    assert "driver-not-loaded" in run.log_lines[-1]


def test_exit_after_ends_only_a_process_without_a_good_pass(node):
    """A driver that goes later is waited for."""
    run = node.virtual(exit_after_s=90.0)
    run.at(30, lambda: node.answer("DRIVER_NOT_LOADED"))
    assert run.run(until_s=500) == 0


def test_fail_on_init_error_ends_only_a_process_without_a_good_pass(node):
    """The driver goes after a good pass: the labels stay, the process too."""
    run = node.virtual()
    before = []
    run.at(1, lambda: before.append(node.output.read_bytes()))

    def unload():
        node.host.unload_driver()
        node.answer("DRIVER_NOT_LOADED")

    run.at(30, unload)
    assert run.run(until_s=500) == 0
    assert node.output.read_bytes() == before[0]
    assert "kept" in run.unready_at[max(run.unready_at)]


def test_an_unchanged_node_costs_no_write_and_no_line(node):
    """A hundred passes: one write, and all lines are of the first."""
    run = node.virtual(sleep_interval_s=10.0)
    told = {}
    run.at(1, lambda: told.update(first=run.log.getvalue(), status=node.output.stat()))
    run.at(999, lambda: told.update(last=run.log.getvalue()))
    run.run(until_s=1000)
    assert len(run.passes_at) == 100
    assert told["last"] == told["first"]
    assert node.output.stat() == told["status"]


@pytest.mark.parametrize("damage", ["deleted", "edited"])
def test_the_next_pass_puts_the_file_right(node, damage):
    """Also when the node has not changed."""
    run = node.virtual(sleep_interval_s=10.0)
    content = []
    run.at(1, lambda: content.append(node.output.read_bytes()))
    run.at(2, node.output.unlink if damage == "deleted" else lambda: node.output.write_text("x=y\n"))
    run.run(until_s=11)
    assert node.output.read_bytes() == content[0]


CHANGES = {
    "driver reloaded": lambda node: node.host.load_driver("535.129.03"),
    "driver replaced": lambda node: node.host.load_driver("550.54.15"),
    "driver unloaded": lambda node: node.host.unload_driver(),
    "gpu appears": lambda node: node.host.add_function(host.make_function("0000:99:00.0")),
    "gpu goes": lambda node: node.host.remove_function(T4["pci_address"]),
    "gpu changes driver": lambda node: node.host.bind(T4["pci_address"], "vfio-pci"),
    "mig layout changes": lambda node: node.host.set_mig_tree({0: {1: [0]}}),
    "library replaced": lambda node: node.answer("SUCCESS", driver_version="550.54.15"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("interval_s", [3600.0, math.inf])
def test_a_change_of_the_node_brings_a_pass_within_five_seconds(node, change, interval_s):
    """Whatever the interval, and without the kernel telling us."""
    node.host.set_mig_tree({})
    run = node.virtual(sleep_interval_s=interval_s)
    run.at(100.3, lambda: change(node))
    run.run(until_s=200)
    assert len(run.passes_at) >= 2
    assert 100.3 < run.passes_at[1] < 105.3


def test_an_event_of_the_kernel_brings_the_pass_sooner(node):
    """Told at once, seen at once, published after a moment of quiet."""
    run = node.virtual()
    run.at(100.5, node.host.unload_driver)
    run.at(100.5, run.tell)
    run.run(until_s=110)
    assert run.passes_at[-1] == 101.0


def test_events_that_mean_nothing_cost_no_pass(node):
    """The kernel tells of other devices too."""
    run = node.virtual(sleep_interval_s=3600.0)
    for tenth in range(100):
        run.at(10 + tenth / 10, run.tell)
    run.run(until_s=60)
    assert run.passes_at == [0.0]


@pytest.mark.parametrize("first", [["1g.5gb"], None], ids=["MIG on", "MIG off"])
def test_a_mig_layout_that_is_not_visible_is_looked_for_with_passes(node, first):
    """Where the capability tree is hidden and a GPU can do MIG, NVML is asked every four seconds."""
    gpu = nvml.make_gpu(mig_devices=first)
    node.host.set_mig_tree(None)
    node.driver.write(nvml.make_machine([gpu]))
    run = node.virtual(mig_strategy="mixed", sleep_interval_s=3600.0)
    run.at(10, lambda: node.driver.write(nvml.make_machine([nvml.make_gpu(mig_devices=["2g.10gb"])])))
    found = []
    run.at(15, lambda: found.append(node.labels))
    run.run(until_s=20)
    assert found[0]["nvidia.com/mig-2g.10gb.count"] == "1"


@pytest.mark.parametrize(("strategy", "gpu"), [("none", nvml.make_gpu(mig_devices=["1g.5gb"])), ("mixed", T4)])
def test_a_mig_layout_that_no_label_tells_is_not_looked_for(node, strategy, gpu):
    """Under the strategy none, and where no GPU can do MIG."""
    node.host.set_mig_tree(None)
    node.driver.write(nvml.make_machine([gpu]))
    run = node.virtual(mig_strategy=strategy, sleep_interval_s=3600.0)
    run.run(until_s=60)
    assert run.passes_at == [0.0]


def test_labels_that_expire_are_refreshed_in_time_although_passes_fail(node):
    """However far apart the attempts are by then."""
    run = node.virtual(nfd_expiry_s=20.0, sleep_interval_s=math.inf)
    run.at(5, lambda: node.answer("DRIVER_NOT_LOADED"))
    run.run(until_s=300)
    gaps = [later - earlier for earlier, later in itertools.pairwise(run.passes_at)]
    assert 8 < max(gaps) < 11.1


def test_a_hanging_call_is_named_with_back_off_and_the_labels_stay(node):
    """Five seconds, then ever more rarely; a deleted file is put right meanwhile; the end is told too."""
    run = node.virtual(sleep_interval_s=10.0)
    before = []

    def hang():
        before.append(node.output.read_bytes())
        run.hung_until = 100.0

    run.at(9.5, hang)
    run.at(50, node.output.unlink)
    restored = []
    run.at(60, lambda: restored.append(node.output.read_bytes()))
    assert run.run(until_s=200) == 0
    hangs = [line for line in run.log_lines if "a call does not return" in line]
    assert [line.rpartition("for_s=")[2] for line in hangs] == ["5", "10", "20", "40", "80"]
    assert restored == before
    assert any("the call returned" in line for line in run.log_lines)
    assert any("has not returned" in reason for reason in run.unready_at.values())
    assert run.unready_at[max(run.unready_at)] == ""


def test_a_signal_ends_the_process_while_a_call_hangs(node):
    """Within a second, with 0 and the labels in place."""
    run = node.virtual(sleep_interval_s=10.0)
    run.at(9.5, lambda: setattr(run, "hung_until", 1e9))
    assert run.run(until_s=30) == 0
    assert run.now() == 30
    assert run.loop.is_hung
    assert node.labels["nvidia.com/gpu.count"] == "1"


def test_a_hang_in_the_first_pass_ends_with_exit_after(node):
    """No good pass in time, and the call that is to blame."""
    run = node.virtual(exit_after_s=90.0)
    run.hung_until = 1e9
    assert run.run() == 1
    assert 90 <= run.now() <= 92
    assert "has not returned" in run.log_lines[-1]


@pytest.mark.parametrize("removes", [False, True])
def test_labels_stay_at_the_end_unless_asked(node, removes):
    """--remove-on-exit is the reference's behaviour."""
    run = node.virtual(remove_on_exit=removes)
    assert run.run(until_s=10) == 0
    assert (node.labels is None) is removes
    assert f"labels={'removed' if removes else 'kept'}" in run.log_lines[-1]


def test_sighup_reads_settings_and_node_again(node):
    """New settings hold from then on, the labels are never removed in between, and the timestamp stays."""
    run = node.virtual(sleep_interval_s=math.inf)
    run.at(10, lambda: setattr(run, "settings", machinery.changed(node.settings, no_timestamp=True)))
    run.at(11, lambda: run.send(signal.SIGHUP))
    run.run(until_s=20)
    assert run.passes_at == [0.0, 11.0]
    assert "nvidia.com/gfd.timestamp" not in node.labels
    assert run.applied == [run.settings]


def test_sighup_without_a_change_looks_once_and_writes_nothing(node):
    """What was published stays as it is."""
    run = node.virtual(sleep_interval_s=math.inf)
    status = []
    run.at(10, lambda: status.append(node.output.stat()))
    run.at(11, lambda: run.send(signal.SIGHUP))
    run.run(until_s=20)
    assert run.passes_at == [0.0, 11.0]
    assert node.output.stat() == status[0]


def test_a_reload_can_make_it_oneshot(node):
    """One more pass, then the end, as the reference does."""
    run = node.virtual(sleep_interval_s=math.inf)
    run.at(10, lambda: setattr(run, "settings", machinery.changed(node.settings, oneshot=True)))
    run.at(11, lambda: run.send(signal.SIGHUP))
    assert run.run(until_s=20) == 0
    assert run.now() == 11.0
    assert node.labels["nvidia.com/gpu.count"] == "1"


def test_a_lost_gpu_keeps_its_identity_over_a_reload(node):
    """What is remembered of this driver load survives new settings."""
    other = nvml.make_gpu(1, board="t4")
    node.host.add_function(host.make_function(other["pci_address"]))
    node.driver.write(nvml.make_machine([T4, other]))
    run = node.virtual(sleep_interval_s=math.inf)
    lost = {**other, "fail": {"*": "GPU_IS_LOST"}}
    run.at(10, lambda: node.driver.write(nvml.make_machine([T4, lost])))
    run.at(11, lambda: setattr(run, "settings", machinery.changed(node.settings, no_timestamp=True)))
    run.at(12, lambda: run.send(signal.SIGHUP))
    run.run(until_s=20)
    assert node.labels["nvidia.com/gpu.count"] == "2"
    assert "nvidia.com/gfd.timestamp" not in node.labels


def make_config_run(node, tmp_path, **overrides):
    """A run with a config file, whose loader reads one setting from it."""
    path = tmp_path / "config.yaml"
    path.write_text("false")
    run = node.virtual(config_file=str(path), sleep_interval_s=math.inf, **overrides)

    def load():
        text = path.read_text()
        if text not in ("true", "false"):
            raise errors.ConfigError("is no boolean", file=str(path), line=1)
        return machinery.changed(node.settings, no_timestamp=text == "true")

    run.load = load
    return run, path


def test_an_edited_config_is_taken_up_within_five_seconds(node, tmp_path):
    """Without a signal."""
    run, path = make_config_run(node, tmp_path)
    run.at(100.1, lambda: path.write_text("true"))
    seen = []
    run.at(105, lambda: seen.append(node.labels))
    run.run(until_s=110)
    assert "nvidia.com/gfd.timestamp" not in seen[0]


def test_a_config_swapped_as_the_kubelet_does_is_taken_up(node, tmp_path):
    """Only the symlink to the folder changes."""
    run, path = make_config_run(node, tmp_path)
    path.unlink()
    for name, text in (("..first", "false"), ("..second", "true")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(text)
    (tmp_path / "..data").symlink_to("..first")
    path.symlink_to("..data/config.yaml")
    (tmp_path / "..new").symlink_to("..second")
    run.at(100.1, lambda: os.rename(tmp_path / "..new", tmp_path / "..data"))
    seen = []
    run.at(105, lambda: seen.append(node.labels))
    run.run(until_s=110)
    assert "nvidia.com/gfd.timestamp" not in seen[0]


def test_a_config_that_is_being_written_is_waited_for(node, tmp_path):
    """It is read once its writer is done, and a state in between is nobody's business."""
    run, path = make_config_run(node, tmp_path)
    for step in range(20):
        run.at(10 + step * 0.2, lambda: path.write_text("tr"))
        run.at(10 + step * 0.2, run.tell)
    run.at(14, lambda: path.write_text("true"))
    loads = []
    load = run.load
    run.load = lambda: loads.append(run.now()) or load()
    run.run(until_s=30)
    assert len(loads) <= 3
    assert "nvidia.com/gfd.timestamp" not in node.labels


def test_a_bad_config_is_told_once_and_the_old_settings_go_on(node, tmp_path):
    """Not even a second SIGHUP repeats it; when it is mended that is told too."""
    run, path = make_config_run(node, tmp_path)
    run.at(10, lambda: path.write_text("maybe"))
    run.at(20, lambda: run.send(signal.SIGHUP))
    run.at(30, lambda: path.write_text("true"))
    assert run.run(until_s=60) == 0
    told = [line for line in run.log_lines if "cause=config" in line]
    assert len(told) == 2
    assert "is no boolean" in told[0]
    assert "settings from before" in told[0]
    assert told[1].startswith("INFO recovered")
    assert "nvidia.com/gfd.timestamp" not in node.labels


def test_a_config_written_while_it_was_read_is_read_again(node, tmp_path):
    """The edit may have come after the reading: one more look at it, without a change nothing follows."""
    run, path = make_config_run(node, tmp_path)
    path.write_text("true")
    run.run(until_s=20, is_config_settled=False)
    assert "nvidia.com/gfd.timestamp" not in node.labels


def test_a_moved_output_file_takes_the_labels_along(node, tmp_path):
    """After a reload with another output file the old one goes once the new one is there."""
    moved = tmp_path / "moved"
    run = node.virtual(sleep_interval_s=math.inf)
    run.at(10, lambda: setattr(run, "settings", machinery.changed(node.settings, output_file=str(moved))))
    run.at(11, lambda: run.send(signal.SIGHUP))
    before = []
    run.at(9, lambda: before.append(node.output.read_bytes()))
    run.run(until_s=20)
    assert moved.read_bytes() == before[0]
    assert not node.output.exists()


def test_settings_impossible_on_this_node_are_told_and_change_nothing(node):
    """T21 d: an entry for a GPU that is not there keeps the labels; it ends only a process that never had a good pass."""
    device = config_types.DeviceSelection(is_all=False, refs=("7",))
    entry = config_types.SharingEntry(name="nvidia.com/gpu", replicas=2, devices=device)
    sharing = config_types.Sharing(time_slicing=config_types.SharingSection(resources=(entry,)))
    bad = machinery.changed(node.settings, config=config_types.Config(sharing=sharing))
    run = node.virtual(sleep_interval_s=10.0)
    run.at(5, lambda: setattr(run, "settings", bad))
    run.at(6, lambda: run.send(signal.SIGHUP))
    before = []
    run.at(4, lambda: before.append(node.output.read_bytes()))
    assert run.run(until_s=100) == 0
    assert node.output.read_bytes() == before[0]
    assert sum("cause=settings" in line for line in run.log_lines) == 1
    assert machinery.VirtualMachinery(bad).run() == 1


def test_a_missing_folder_ends_a_first_pass_and_is_waited_for_later(node, tmp_path):
    """The same as for a missing driver: told once, tried again, put right when it is back."""
    folder = tmp_path / "features.d"
    run = node.virtual(output_file=str(folder / "gfd"), sleep_interval_s=10.0)
    assert run.run() == 1
    assert "features.d is missing" in run.log_lines[-1]
    folder.mkdir()
    run = node.virtual()
    run.at(5, lambda: folder.rename(tmp_path / "away"))
    run.at(60, folder.mkdir)
    assert run.run(until_s=100) == 0
    assert (folder / "gfd").exists()
    assert sum("is missing" in line for line in run.log_lines) == 1


def test_a_replaced_library_executes_the_process_anew_once(node):
    """A version mismatch that only a new process can mend: one restart per library and driver, labels kept."""
    run = node.virtual(sleep_interval_s=10.0)
    before = []
    run.at(4, lambda: before.append(node.output.read_bytes()))
    run.at(5, lambda: node.answer("LIB_RM_VERSION_MISMATCH"))
    assert run.run(until_s=200) == 0
    assert len(run.restarts) == 1
    assert node.output.read_bytes() == before[0]


def test_after_being_executed_anew_the_process_waits(node):
    """It is the same process that had good passes: not even --fail-on-init-error ends it, nor is it restarted again."""
    node.answer("LIB_RM_VERSION_MISMATCH")
    first = node.virtual(fail_on_init_error=False)
    first.run(until_s=1)
    second = machinery.VirtualMachinery(
        machinery.changed(node.settings, fail_on_init_error=True), restarted_for=first.restarts[0]
    )
    assert second.run(until_s=300) == 0
    assert second.restarts == []
    assert len(second.passes_at) > 1


def test_an_internal_error_fails_the_pass_and_not_the_process(node):
    """Named with its place in one line, once, and tried again."""
    run = node.virtual(sleep_interval_s=10.0)
    start = run.start
    run.at(5, lambda: setattr(run, "start", lambda job: start(lambda: 1 // 0)))
    run.at(50, lambda: setattr(run, "start", start))
    assert run.run(until_s=100) == 0
    told = [line for line in run.log_lines if "internal error" in line]
    assert len(told) == 1
    assert "ZeroDivisionError" in told[0]
    assert any("recovered cause=pass" in line for line in run.log_lines)


def test_the_loop_does_not_spin(node):
    """An idle minute is some thirty looks, two waits each."""
    run = node.virtual(sleep_interval_s=3600.0)
    run.run(until_s=60)
    assert run.waits < 70
