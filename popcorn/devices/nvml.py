"""NVML through pynvml, imported inside. What is absent is a reason, never a crash. Imports without torch."""

import ctypes
import os
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

_CORES_PER_MULTIPROCESSOR = {"7.0": 64, "7.5": 64, "8.0": 64}
"""FP32 cores of one multiprocessor where it is not 128 (CUDA C++ programming guide, arithmetic throughput table)."""


@dataclass(frozen=True)
class Nvml:
    """The library when it works, or the reason why not."""

    library: ModuleType | None
    """The pynvml module, initialised; None when NVML cannot be used."""
    reason: str | None = None
    """Why it cannot."""


def open_nvml() -> Nvml:
    """NVML for this process, opened once (again after a fork)."""
    return _open(os.getpid())


@lru_cache(maxsize=4)
def _open(pid: int) -> Nvml:
    try:
        ctypes.CDLL("libnvidia-ml.so.1")  # a machine without the driver is told apart before pynvml's ten milliseconds
    except OSError:
        return Nvml(None, "NVML does not open: there is no libnvidia-ml.so.1 (no NVIDIA driver here?)")
    try:
        import pynvml
    except ImportError:
        return Nvml(None, "nvidia-ml-py is not installed: pip install nvidia-ml-py")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Nvml(None, f"NVML does not open: {error} (no NVIDIA driver here?)")
    return Nvml(pynvml)


def ask(nvml: Any, function: str, *arguments: Any) -> Any | None:
    """One NVML query; None where this driver or device does not support it."""
    try:
        return getattr(nvml, function)(*arguments)
    except (AttributeError, nvml.NVMLError):
        return None


def text(value: Any) -> str:
    """NVML strings come as bytes from old bindings."""
    return value.decode() if isinstance(value, bytes) else str(value)


def visible(uuids: list[str], wanted: str | None) -> list[int]:
    """Positions in `uuids` (NVML's order) that CUDA_VISIBLE_DEVICES leaves visible, in CUDA's order.

    `wanted` is the variable's text, None when unset. Entries are indices or prefixes of UUIDs; like CUDA, reading stops at the first
    entry that names no device. Indices mean NVML's order, which is CUDA's own under CUDA_DEVICE_ORDER=PCI_BUS_ID and wherever all
    GPUs are alike.
    """
    if wanted is None:
        return list(range(len(uuids)))
    found: list[int] = []
    for entry in (part.strip() for part in wanted.split(",")):
        if entry.isdecimal():
            matches = [int(entry)] if int(entry) < len(uuids) else []
        else:
            matches = [index for index, uuid in enumerate(uuids) if entry and uuid.lower().startswith(entry.lower())]
        if len(matches) != 1 or matches[0] in found:
            break
        found.append(matches[0])
    return found


def visible_handles() -> list[Any]:
    """NVML handles of the GPUs that this process may see, in CUDA's order; empty without NVML. One that fell off the bus is left out, as CUDA does."""
    found = [(handle, uuid) for handle, uuid in _handles() if uuid is not None]
    return [found[index][0] for index in visible([uuid for _, uuid in found], os.environ.get("CUDA_VISIBLE_DEVICES"))]


def silent() -> int:
    """GPUs of this machine that do not answer their driver."""
    return sum(uuid is None for _, uuid in _handles())


def sliced(handle: Any) -> bool:
    """Whether the GPU is cut into instances (MIG)."""
    mode = ask(open_nvml().library, "nvmlDeviceGetMigMode", handle)
    return mode is not None and bool(mode[0])


def _handles() -> list[tuple[Any, str | None]]:
    """Every GPU of the machine with its UUID; None for one that does not answer."""
    nvml = open_nvml().library
    if nvml is None:
        return []
    found = []
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = ask(nvml, "nvmlDeviceGetHandleByIndex", index)
        uuid = None if handle is None or ask(nvml, "nvmlDeviceGetName", handle) is None else ask(nvml, "nvmlDeviceGetUUID", handle)
        found.append((handle, None if uuid is None else text(uuid)))
    return found


def describe(handle: Any) -> dict[str, Any]:
    """Facts of one GPU under the field names of `Machine`; a fact that the driver does not give is None."""
    nvml = open_nvml().library
    assert nvml is not None, "a handle exists only with NVML"
    pci = ask(nvml, "nvmlDeviceGetPciInfo", handle)
    capability = ask(nvml, "nvmlDeviceGetCudaComputeCapability", handle)
    memory = ask(nvml, "nvmlDeviceGetMemoryInfo", handle)
    limit_mw = ask(nvml, "nvmlDeviceGetEnforcedPowerLimit", handle)
    driver = ask(nvml, "nvmlSystemGetDriverVersion")
    compute_capability = None if capability is None else f"{capability[0]}.{capability[1]}"
    cores = ask(nvml, "nvmlDeviceGetNumGpuCores", handle)
    return {
        "device_name": text(nvml.nvmlDeviceGetName(handle)),
        "device_uuid": text(nvml.nvmlDeviceGetUUID(handle)),
        "pci_id": None if pci is None else pci_id(pci.pciDeviceId),
        "compute_capability": compute_capability,
        "multiprocessors": cores and cores // _CORES_PER_MULTIPROCESSOR.get(compute_capability or "", 128),
        "memory_bytes": memory and int(memory.total),
        "driver": driver and text(driver),
        "sm_clock_hz": clock_hz(handle, "NVML_CLOCK_SM"),
        "memory_clock_hz": clock_hz(handle, "NVML_CLOCK_MEM"),
        "power_limit_w": None if limit_mw is None else limit_mw / 1000,
    }


def clock_hz(handle: Any, which: str) -> float | None:
    """Current clock in Hz; `which` is NVML_CLOCK_SM or NVML_CLOCK_MEM."""
    nvml = open_nvml().library
    mhz = ask(nvml, "nvmlDeviceGetClockInfo", handle, getattr(nvml, which))
    return None if mhz is None else mhz * 1e6


def pci_id(combined: int) -> str:
    """`10de:2335` from NVML's pciDeviceId, which holds the device number above the vendor number."""
    return f"{combined & 0xFFFF:04x}:{combined >> 16:04x}"
