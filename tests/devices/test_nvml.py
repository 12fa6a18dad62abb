"""What the code makes of NVML's answers, with a stand-in for the library."""

import os

import pytest

from popcorn.cli.doctor import show
from popcorn.devices import facts, host, nvml, probe
from popcorn.devices.nvml import Nvml
from popcorn.errors import UnknownDevice
from popcorn.measure import energy, steadiness
from tests.devices.fake_nvml import UUID, FakeNvml

CUDA_BUILD = {"__version__": "2.11.0+cu130", "cuda": "13.0"}


@pytest.fixture
def library(monkeypatch):
    """One H200 seen through NVML, and a torch built for CUDA."""
    fake = FakeNvml()
    for module in (nvml, energy, steadiness):
        monkeypatch.setattr(module, "open_nvml", lambda: Nvml(fake))
    monkeypatch.setattr(host, "torch_build", lambda: CUDA_BUILD)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return fake


def test_an_h200_becomes_a_machine(library):
    machine = probe.probe()
    assert (machine.device_id, machine.device_name, machine.kind, machine.device_index) == ("nvidia-h200-sxm", "NVIDIA H200", "cuda", 0)
    assert (machine.pci_id, machine.compute_capability, machine.multiprocessors, machine.device_uuid) == ("10de:2335", "9.0", 132, UUID)
    assert machine.memory_bytes == 143771 * 2**20 and machine.l2_bytes == 60 * 2**20 and machine.power_limit_w == 700
    assert machine.sm_clock_hz == 1.98e9 and machine.memory_clock_hz == 3.201e9 and machine.driver == "580.159.04"
    assert machine.threads is None and machine.cuda == "13.0"


def test_the_visible_devices_are_counted_from_zero_and_found_by_uuid(library, monkeypatch):
    library.uuids = ["GPU-aaaa", "GPU-bbbb", "GPU-cccc"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-cccc,0")
    assert probe.devices() == ["cuda:0", "cuda:1", "cpu"]
    assert [probe.probe(f"cuda:{index}").device_uuid for index in (0, 1)] == ["GPU-cccc", "GPU-aaaa"]
    with pytest.raises(UnknownDevice, match="cuda:0 or cuda:1 or cpu"):
        probe.probe("cuda:2")


@pytest.mark.parametrize("question", ["nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID", "nvmlDeviceGetName"])
def test_a_gpu_that_fell_off_the_bus_is_left_out_and_the_others_work(library, monkeypatch, question):
    library.uuids = ["GPU-aaaa", "GPU-bbbb", "GPU-cccc"]
    answer = getattr(library, question)

    def lost(which):
        if which == 1:
            raise library.NVMLError("GPU is lost")
        return answer(which)

    monkeypatch.setattr(library, question, lost)
    assert probe.devices() == ["cuda:0", "cuda:1", "cpu"] and probe.probe("cpu").kind == "cpu"
    assert [probe.probe(f"cuda:{index}").device_uuid for index in (0, 1)] == ["GPU-aaaa", "GPU-cccc"]
    said = facts._nvml()
    assert said.finding == "2 GPU(s) visible, 1 more without an answer" and "reset" in (said.fix or "")


def test_a_gpu_that_is_cut_into_instances_is_refused_and_never_held_to_the_whole_one_s_rates(library, monkeypatch):
    library.nvmlDeviceGetMigMode = lambda handle: [0, 0]
    assert probe.probe("cuda").device_id == "nvidia-h200-sxm"
    library.nvmlDeviceGetMigMode = lambda handle: [1, 1]
    for device in ("auto", "cuda:0"):
        with pytest.raises(UnknownDevice, match="nvidia-smi -mig 0"):
            probe.probe(device)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-aaaa")
    with pytest.raises(UnknownDevice, match="names a MIG instance"):
        probe.probe("cuda")


def test_a_hidden_gpu_is_said_to_be_hidden(library, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert probe.probe("auto").kind == "cpu"
    with pytest.raises(UnknownDevice, match="hides every GPU"):
        probe.probe("cuda")


def test_auto_takes_the_cpu_when_torch_has_no_cuda(library, monkeypatch):
    monkeypatch.setattr(host, "torch_build", lambda: {"__version__": "2.11.0+cpu", "cuda": None})
    assert probe.probe("auto").kind == "cpu"


def test_what_the_driver_does_not_answer_is_unknown(library):
    def refuse(*_):
        raise library.NVMLError("Not Supported")

    library.nvmlDeviceGetNumGpuCores = library.nvmlDeviceGetEnforcedPowerLimit = library.nvmlDeviceGetPciInfo = refuse
    machine = probe.probe("cuda:0")
    assert machine.multiprocessors is None and machine.power_limit_w is None and machine.pci_id is None
    assert machine.device_id == "nvidia-h200-sxm", "the exact name is enough"


def test_a_gpu_without_a_row_is_named_after_itself(library):
    library.nvmlDeviceGetName = lambda handle: "NVIDIA H20"
    library.nvmlDeviceGetPciInfo = lambda handle: type("Pci", (), {"pciDeviceId": 0x232910DE})()
    machine = probe.probe()
    assert machine.device_id == "nvidia-h20" and machine.l2_bytes is None


def test_energy_is_read_by_uuid_and_a_missing_counter_is_a_reason(library):
    library.uuids = ["GPU-other", UUID]
    machine = probe.probe("cuda:1")
    meter = energy.find_meter(machine)
    assert meter.source == "nvml" and meter.read_j() == 5000
    library.energy_mj = None
    assert "cannot be read" in energy.find_meter(machine).reason


def test_a_snapshot_reads_throttles_clock_and_processes(library):
    machine = probe.probe()
    library.mask = 0x4 | 0x40
    library.processes = [os.getpid(), 2**22 + 5]
    seen = steadiness.look(machine)
    assert seen.throttles == {"thermal (hardware)"} and seen.sm_clock_hz == 1.98e9
    assert seen.gpu_processes == {os.getpid()} and seen.hidden_processes == 1


def test_an_idle_gpu_has_no_clock_to_compare(library):
    library.mask, library.sm_mhz = 0x1, 345
    watching = steadiness.Watch(probe.probe())
    library.mask, library.sm_mhz = 0, 1980
    assert watching.before.sm_clock_hz is None
    assert not any("SM clock" in reason for reason in watching.check().reasons)


def test_the_doctor_of_a_gpu_machine_fits_80_columns(library, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(host, "find_ncu", lambda: "/opt/nvidia/nsight-compute/2025.3.1/ncu")
    monkeypatch.setattr(facts, "_may_administer", lambda: True)
    machine = probe.probe()
    show(machine, facts.gather(machine, tmp_path))
    shown = capsys.readouterr().out
    assert "132 multiprocessors" in shown and "NVML total-energy counter" in shown and "nsight-compute" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_counters_that_only_administrators_may_read_come_with_the_fix(library, monkeypatch):
    monkeypatch.setattr(host, "find_ncu", lambda: "/usr/bin/ncu")
    monkeypatch.setattr(facts, "_may_administer", lambda: False)
    monkeypatch.setattr(facts, "_read", lambda path: "RmProfilingAdminOnly: 1\n" if path.name == "params" else "Linux version 6.18")
    found = facts._counter_permission(probe.probe())
    assert found.state == "absent" and "CAP_SYS_ADMIN" in found.fix
