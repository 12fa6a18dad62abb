"""This machine as a noun, without torch."""

import os
import subprocess
import sys

import pytest

from popcorn.devices import host, nvml
from popcorn.devices.probe import devices, probe, slug
from popcorn.errors import UnknownDevice


def test_the_cpu_is_described_with_what_shapes_a_number():
    machine = probe("cpu")
    assert machine.kind == "cpu" and machine.device_id.startswith("cpu-") and machine.device_id.endswith(f"-{machine.threads}t")
    assert 1 <= machine.threads <= machine.multiprocessors <= os.cpu_count()
    assert machine.memory_bytes > 2**28 and machine.python == sys.version.split()[0]
    assert machine.torch and machine.host and len(machine.host) == 8


def test_probing_does_not_import_torch():
    code = "import sys; from popcorn.devices.probe import probe; m = probe('cpu'); assert m.torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_the_torch_version_read_from_its_file_is_the_real_one():
    import torch

    build = host.torch_build()
    assert build["__version__"] == torch.__version__ and build["cuda"] == torch.version.cuda


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "tpu:0", "", "cuda:x", "cuda:-1", "CPU"])
def test_a_device_that_does_not_exist_names_those_that_do(device):
    with pytest.raises(UnknownDevice, match="cpu") as caught:
        probe(device)
    assert repr(device) in str(caught.value)


def test_auto_is_one_of_the_devices_here():
    assert probe("auto").kind in ("cuda", "cpu")
    assert devices()[-1] == "cpu"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA RTX A6000", "nvidia-rtx-a6000"),
        ("Intel(R) Xeon(R) Gold 6230N CPU @ 2.30GHz", "intel-xeon-gold-6230n"),
        ("AMD EPYC 9R14 96-Core Processor", "amd-epyc-9r14"),
        ("Neoverse-V2", "neoverse-v2"),
        ("../../etc/passwd", "etc-passwd"),
        ("", "unknown"),
    ],
)
def test_a_name_becomes_an_id_that_can_be_a_file_name(name, expected):
    assert slug(name) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (None, [0, 1, 2]),
        ("2,0", [2, 0]),
        ("", []),
        ("-1", []),
        ("1,7,0", [1]),
        ("GPU-bb", [1]),
        ("GPU-b,GPU-a", [1, 0]),
        ("GPU-", []),
        ("1,1", [1]),
    ],
)
def test_visible_devices_are_read_as_cuda_reads_them(wanted, expected):
    assert nvml.visible(["GPU-aa11", "GPU-bb22", "GPU-cc33"], wanted) == expected


def test_pci_ids_are_split_from_nvmls_number():
    assert nvml.pci_id(0x233510DE) == "10de:2335"


def _fake_root(tmp_path, cgroup: str, files: dict[str, str]):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(cgroup)
    (tmp_path / "proc/meminfo").write_text("MemTotal:       16000000 kB\n")
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_cgroup_2_limits_of_a_parent_count(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    root = _fake_root(
        tmp_path,
        "0::/a/b\n",
        {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "450000 100000\n", "a/memory.max": "1073741824\n", "a/b/memory.max": "max\n"},
    )
    assert host.usable_cores(root) == 4
    assert host.memory_bytes(root) == 2**30


def test_cgroup_1_limits_count_and_no_limit_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    files = {
        "cpu/job/cpu.cfs_quota_us": "50000\n",
        "cpu/job/cpu.cfs_period_us": "100000\n",
        "cpu/cpu.cfs_quota_us": "-1\n",
        "cpu/cpu.cfs_period_us": "100000\n",
    }
    root = _fake_root(tmp_path, "3:cpu,cpuacct:/other\n2:cpu:/job\n", files)
    assert host.usable_cores(root) == 1, "half a core still counts as one"
    assert host.memory_bytes(root) == 16000000 * 1024


def test_a_quota_above_the_affinity_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert host.usable_cores(_fake_root(tmp_path, "0::/\n", {"cpu.max": "800000 100000\n"})) == 2


def test_the_last_level_cache_is_the_highest_data_level(tmp_path):
    for index, (level, kind, size) in enumerate(
        [(1, "Data", "32K"), (1, "Instruction", "32K"), (2, "Unified", "1024K"), (3, "Unified", "32M")]
    ):
        folder = tmp_path / f"sys/devices/system/cpu/cpu0/cache/index{index}"
        folder.mkdir(parents=True)
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{value}\n")
    assert host.last_level_cache_bytes(tmp_path) == 32 * 2**20
    assert host.last_level_cache_bytes(tmp_path / "nothing") is None


@pytest.mark.gpu
def test_a_gpu_is_described_through_nvml():
    machine = probe("cuda:0")
    assert machine.kind == "cuda" and machine.device_uuid.startswith("GPU-") and machine.pci_id.startswith("10de:")
    import torch

    properties = torch.cuda.get_device_properties(0)
    assert machine.multiprocessors == properties.multi_processor_count
    assert machine.compute_capability == f"{properties.major}.{properties.minor}"
    assert str(properties.uuid) in machine.device_uuid
    if machine.l2_bytes is not None:
        assert machine.l2_bytes == properties.L2_cache_size
