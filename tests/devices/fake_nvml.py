"""A stand-in for the module pynvml: one H200, as its driver answered, and whatever a test changes."""

from types import SimpleNamespace

UUID = "GPU-5b1f0c2e-1111-2222-3333-444455556666"


class NVMLError(Exception):
    """As pynvml names it."""


class FakeNvml:
    """The functions of pynvml that are used. A test may replace any of them."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2

    def __init__(self, uuids=(UUID,)):
        self.uuids = list(uuids)
        self.mask = 0
        self.processes = []
        self.energy_mj = 5_000_000
        self.sm_mhz = 1980

    def nvmlDeviceGetCount(self):
        return len(self.uuids)

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid):
        if uuid not in self.uuids:
            raise NVMLError("Not Found")
        return self.uuids.index(uuid)

    def nvmlDeviceGetUUID(self, handle):
        return self.uuids[handle]

    def nvmlDeviceGetName(self, handle):
        return b"NVIDIA H200"

    def nvmlSystemGetDriverVersion(self):
        return "580.159.04"

    def nvmlDeviceGetPciInfo(self, handle):
        return SimpleNamespace(pciDeviceId=0x233510DE)

    def nvmlDeviceGetCudaComputeCapability(self, handle):
        return (9, 0)

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=143771 * 2**20)

    def nvmlDeviceGetNumGpuCores(self, handle):
        return 16896

    def nvmlDeviceGetEnforcedPowerLimit(self, handle):
        return 700_000

    def nvmlDeviceGetClockInfo(self, handle, which):
        return self.sm_mhz if which == self.NVML_CLOCK_SM else 3201

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        if self.energy_mj is None:
            raise NVMLError("Not Supported")
        return self.energy_mj

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle):
        return self.mask

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [SimpleNamespace(pid=pid) for pid in self.processes]
