"""Machine: where a number was taken."""

from popcorn.schema.case import Frozen


class Machine(Frozen):
    """The device, its driver and clocks, and the versions of everything that shapes a number."""

    device_id: str
    """Our name for the device, readable aloud: `nvidia-h200-sxm`, `cpu-amd-epyc-9r14-2c`."""
    device_name: str
    """The name that the driver or the kernel gives."""
    kind: str
    """`cuda`, `rocm` or `cpu`."""
    device_index: int | None = None
    """Index among the visible devices; None for a CPU."""
    device_uuid: str | None = None
    """The device's own unique id, as NVML writes it."""
    pci_id: str | None = None
    """Vendor and device number, `10de:2335`."""
    compute_capability: str | None = None
    """`9.0` for Hopper; None on a CPU."""
    multiprocessors: int | None = None
    """Multiprocessors of a GPU, or cores that the process may use on a CPU."""
    threads: int | None = None
    """Threads that a CPU measurement uses on both sides; None on a GPU."""
    memory_bytes: int | None = None
    """Device memory (GPU) or memory that the process may use (CPU)."""
    l2_bytes: int | None = None
    """Size of the cache that must be evicted: L2 of a GPU, last level of a CPU."""
    driver: str | None = None
    """Driver version, or the kernel release on a CPU."""
    cuda: str | None = None
    """CUDA version of torch."""
    torch: str | None = None
    """torch version with its local suffix."""
    triton: str | None = None
    """triton version; None when it is not installed."""
    python: str | None = None
    """Python version."""
    compiler: str | None = None
    """C++ compiler and version."""
    nvcc: str | None = None
    """nvcc release; None when absent."""
    sm_clock_hz: float | None = None
    """Multiprocessor clock when probed; on a CPU the current core clock."""
    memory_clock_hz: float | None = None
    """Memory clock when probed."""
    power_limit_w: float | None = None
    """Enforced power limit."""
    host: str | None = None
    """A short hash of the host's name: the same machine is recognised, its name is not published."""
    bandwidth_bytes_per_s: float | None = None
    """Bandwidth measured on this device by a copy, read plus written."""
    flop_per_s: dict[str, float] = {}
    """Flop rate measured on this device by a matrix product, per precision."""

    @property
    def id(self) -> str:
        """What records of the same kind of device share."""
        return self.device_id
