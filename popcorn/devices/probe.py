"""This machine, now, as a `Machine`. Imports without torch: versions are read from files, the GPU through NVML."""

import os
import platform
import re
from typing import Any

from popcorn.devices import host, nvml, specs
from popcorn.errors import UnknownDevice
from popcorn.schema.machine import Machine


def probe(device: str = "auto") -> Machine:
    """The machine as seen through one device.

    `device` is `cpu`, `cuda`, `cuda:1` (an index among the visible GPUs), or `auto`: the first visible GPU when NVML sees one and the
    installed torch was built for CUDA, else the CPU. Raises `UnknownDevice` with the list of what exists.
    """
    gpus = nvml.visible_handles()
    if device == "auto":
        device = "cuda:0" if gpus and host.torch_build().get("cuda") else "cpu"
    if device == "cpu":
        return _cpu()
    index = re.fullmatch(r"cuda(?::(\d{1,3}))?", device)
    if not index or int(index[1] or 0) >= len(gpus):
        raise UnknownDevice(f"device {device!r} does not exist here: use {_existing(len(gpus))}.{_why_no_gpu(device, len(gpus))}")
    return _gpu(int(index[1] or 0), gpus)


def devices() -> list[str]:
    """Every device that `probe` accepts here, GPUs first."""
    return [f"cuda:{index}" for index in range(len(nvml.visible_handles()))] + ["cpu"]


def slug(name: str) -> str:
    """A name as an id: `NVIDIA RTX A6000` → `nvidia-rtx-a6000`; marks, clock rates and core counts are dropped."""
    plain = re.sub(r"\((?:r|tm|c)\)|@.*$|\b\d+-core\b|\bprocessor\b|\bcpu\b", " ", name.lower())
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or "unknown"


def _gpu(index: int, gpus: list[object]) -> Machine:
    if nvml.sliced(gpus[index]):
        raise UnknownDevice(
            f"cuda:{index} is cut into MIG instances: a kernel would run on one of them and be held to the rates of the whole GPU. "
            "Switch MIG off (nvidia-smi -mig 0), or use --device cpu."
        )
    facts = nvml.describe(gpus[index])
    spec = specs.find(facts["device_name"], facts["pci_id"])
    return Machine(
        device_id=spec.id if spec else slug(facts["device_name"]),
        kind="cuda",
        device_index=index,
        l2_bytes=spec.l2_bytes if spec else None,
        **facts,
        **_software(),
    )


def _cpu() -> Machine:
    name = host.cpu_name()
    cores = host.usable_cores()
    threads = host.measuring_threads(cores)
    return Machine(
        device_id=f"cpu-{slug(name)}-{threads}t",
        device_name=name,
        kind="cpu",
        multiprocessors=cores,
        threads=threads,
        memory_bytes=host.memory_bytes(),
        l2_bytes=host.last_level_cache_bytes(),
        driver=platform.release(),
        sm_clock_hz=host.cpu_clock_hz(),
        **_software(),
    )


def _software() -> dict[str, Any]:
    build = host.torch_build()
    return {
        "cuda": build.get("cuda"),
        "torch": build.get("__version__") or host.package_version("torch"),
        "triton": host.package_version("triton"),
        "python": platform.python_version(),
        "compiler": host.compiler(),
        "nvcc": host.nvcc(),
        "host": host.host_hash(),
    }


def _existing(gpus: int) -> str:
    return " or ".join([f"cuda:{index}" for index in range(gpus)] + ["cpu"])


def _why_no_gpu(device: str, gpus: int) -> str:
    if not device.startswith("cuda") or gpus:
        return ""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if hidden and hidden.startswith("MIG-"):
        return " (CUDA_VISIBLE_DEVICES names a MIG instance, and only whole GPUs are measured)"
    reason = nvml.open_nvml().reason or (f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU" if hidden is not None else "NVML sees no GPU")
    return f" ({reason})"
