"""What each device could do at best, one row a device, each with its source. Imports without torch.

Three habits guard against the usual mistakes. A device is found by PCI id, or by its *exact* driver name, never by a part of it, so
an H200 cannot be read as an H100. Dense and sparse rates are kept apart, and only dense ones are ever a ceiling: vendors print rates
"with sparsity", which no dense product reaches. A figure that a document does not give is left out, not guessed.

Driver names and PCI ids: the table of supported products in the README of NVIDIA's open kernel modules; for AMD, pci.ids.
"""

from dataclasses import dataclass, field

T = 1e12
GB = 10**9
MIB = 2**20


@dataclass(frozen=True)
class Spec:
    """Datasheet figures of one device. Rates in operations per second, a multiply-add counted as two."""

    id: str
    """Our name, readable aloud: `nvidia-h200-sxm`."""
    names: tuple[str, ...]
    """Exact names that the driver reports."""
    pci_ids: tuple[str, ...]
    """`vendor:device` in lower-case hexadecimal, `10de:2335`."""
    compute_capability: str | None
    """`9.0` for Hopper; for AMD what torch reports, `9.4` for gfx942."""
    memory_bytes: int
    """Nominal memory, decimal, as the datasheet prints it."""
    bandwidth_bytes_per_s: float
    """Peak memory bandwidth."""
    l2_bytes: int | None
    """The cache that must be evicted for a cold measurement: L2, or the last level where there is one above it."""
    tdp_w: float
    """Largest power the part may draw."""
    source: str
    """Document that gives the figures."""
    dense_flop_per_s: dict[str, float] = field(default_factory=dict)
    """Fastest dense rate per precision, matrix units included. The only ceilings."""
    sparse_flop_per_s: dict[str, float] = field(default_factory=dict)
    """Rate with 2:4 structured sparsity, for reference; never a ceiling."""


def _rates(float64: float | None, float32: float, tensor: dict[str, float]) -> dict[str, dict[str, float]]:
    """Dense and sparse rates from TFLOP/s: `tensor` holds dense rates of units that double with 2:4 sparsity."""
    dense = {"float64": float64, "float32": float32} | tensor
    return {
        "dense_flop_per_s": {precision: rate * T for precision, rate in dense.items() if rate is not None},
        "sparse_flop_per_s": {precision: 2 * rate * T for precision, rate in tensor.items()},
    }


def _tensor(half: float, eight_bit: float | None, tf32: float | None = None, int8: float | None = None) -> dict[str, float]:
    """Dense TFLOP/s of the matrix units: fp16 = bf16 = `half`, tf32 half of it, fp8 = `eight_bit` (None: no fp8), int8 beside it."""
    rates = {"tf32": half / 2 if tf32 is None else tf32, "float16": half, "bfloat16": half, "int8": int8 or eight_bit or 2 * half}
    return rates if eight_bit is None else rates | {"float8": eight_bit}


_A100 = _rates(19.5, 19.5, _tensor(312, None))
_H100_SXM = _rates(67, 67, _tensor(989.5, 1979))
_H100_NVL = _rates(60, 60, _tensor(835.5, 1670.5))

_A100_SHEET = "NVIDIA A100 Tensor Core GPU datasheet"
_H100_SHEET = "NVIDIA H100 Tensor Core GPU datasheet (rates there are with sparsity; halved here)"
_H200_SHEET = "NVIDIA H200 Tensor Core GPU datasheet (rates there are with sparsity; halved here); L2 as the driver reports it"
_GH200_SHEET = "NVIDIA GH200 Grace Hopper Superchip datasheet; L2 as the driver reports it"

SPECS: tuple[Spec, ...] = (
    Spec("nvidia-a100-pcie-40gb", ("NVIDIA A100-PCIE-40GB",), ("10de:20f1",), "8.0", 40 * GB, 1555e9, 40 * MIB, 250, _A100_SHEET, **_A100),
    Spec("nvidia-a100-pcie-80gb", ("NVIDIA A100 80GB PCIe",), ("10de:20b5",), "8.0", 80 * GB, 1935e9, 40 * MIB, 300, _A100_SHEET, **_A100),
    Spec("nvidia-a100-sxm-40gb", ("NVIDIA A100-SXM4-40GB",), ("10de:20b0",), "8.0", 40 * GB, 1555e9, 40 * MIB, 400, _A100_SHEET, **_A100),
    Spec("nvidia-a100-sxm-80gb", ("NVIDIA A100-SXM4-80GB",), ("10de:20b2",), "8.0", 80 * GB, 2039e9, 40 * MIB, 400, _A100_SHEET, **_A100),
    Spec(
        "nvidia-h100-pcie", ("NVIDIA H100 PCIe",), ("10de:2331",), "9.0", 80 * GB, 2.0e12, 50 * MIB, 350, _H100_SHEET,
        **_rates(51, 51, _tensor(756.5, 1513)),
    ),
    Spec("nvidia-h100-sxm", ("NVIDIA H100 80GB HBM3",), ("10de:2330",), "9.0", 80 * GB, 3.35e12, 50 * MIB, 700, _H100_SHEET, **_H100_SXM),
    Spec("nvidia-h100-nvl", ("NVIDIA H100 NVL",), ("10de:2321",), "9.0", 94 * GB, 3.9e12, 50 * MIB, 400, _H100_SHEET, **_H100_NVL),
    Spec(
        "nvidia-gh200", ("NVIDIA GH200 480GB", "NVIDIA GH200 120GB"), ("10de:2342",), "9.0", 96 * GB, 4.0e12, 60 * MIB, 1000, _GH200_SHEET,
        **_H100_SXM,
    ),
    Spec(
        "nvidia-gh200-144gb", ("NVIDIA GH200 144G HBM3e",), ("10de:2348",), "9.0", 144 * GB, 4.9e12, 60 * MIB, 1000, _GH200_SHEET,
        **_H100_SXM,
    ),
    Spec("nvidia-h200-sxm", ("NVIDIA H200",), ("10de:2335",), "9.0", 141 * GB, 4.8e12, 60 * MIB, 700, _H200_SHEET, **_H100_SXM),
    Spec("nvidia-h200-nvl", ("NVIDIA H200 NVL",), ("10de:233b",), "9.0", 141 * GB, 4.8e12, 60 * MIB, 600, _H200_SHEET, **_H100_NVL),
    Spec(
        "nvidia-b200", ("NVIDIA B200",), ("10de:2901", "10de:2909"), "10.0", 180 * GB, 8.0e12, 126 * MIB, 1000,
        "NVIDIA DGX B200 and HGX B200 datasheets, an eighth of the system each; L2 as the driver reports it",
        **_rates(37, 75, _tensor(2250, 4500)),
    ),
    Spec(
        "nvidia-l4", ("NVIDIA L4",), ("10de:27b8",), "8.9", 24 * GB, 300e9, 48 * MIB, 72,
        "NVIDIA L4 Tensor Core GPU datasheet (rates there are with sparsity; halved here)",
        **_rates(None, 30.3, _tensor(121, 242.5, tf32=60)),
    ),
    Spec(
        "nvidia-l40s", ("NVIDIA L40S",), ("10de:26b9",), "8.9", 48 * GB, 864e9, 96 * MIB, 350, "NVIDIA L40S datasheet",
        **_rates(None, 91.6, _tensor(362.05, 733, tf32=183)),
    ),
    # GeForce parts run fp16 and fp8 products twice as fast with 16-bit accumulation; a ceiling must be the faster one.
    Spec(
        "nvidia-rtx-4090", ("NVIDIA GeForce RTX 4090",), ("10de:2684",), "8.9", 24 * GB, 1008e9, 72 * MIB, 450,
        "NVIDIA Ada GPU Architecture whitepaper, appendix A",
        **_rates(None, 82.6, {"tf32": 82.6, "float16": 330.3, "bfloat16": 165.2, "float8": 660.6, "int8": 660.6}),
    ),
    Spec(
        "nvidia-rtx-5090", ("NVIDIA GeForce RTX 5090",), ("10de:2b85",), "12.0", 32 * GB, 1792e9, 96 * MIB, 575,
        "NVIDIA RTX Blackwell GPU Architecture whitepaper, appendix A",
        **_rates(None, 104.8, {"tf32": 104.8, "float16": 419.0, "bfloat16": 209.5, "float8": 838.0, "int8": 838.0}),
    ),
    Spec(
        "amd-mi300x", ("AMD Instinct MI300X",), ("1002:74a1",), "9.4", 192 * GB, 5.3e12, 256 * MIB, 750,
        "AMD Instinct MI300X data sheet; the cache is the 256 MB Infinity Cache above the L2s",
        **_rates(163.4, 163.4, _tensor(1307.4, 2614.9)),
    ),
)  # fmt: skip


def find(name: str | None, pci_id: str | None = None) -> Spec | None:
    """The row of a device: by PCI id where it is known, else by the exact driver name; None when no row fits.

    Never by a part of the name: `NVIDIA H200` must not match a rule for `NVIDIA H100`, nor `NVIDIA H200 NVL` one for `NVIDIA H200`.
    """
    if pci_id is not None:
        for spec in SPECS:
            if pci_id.lower() in spec.pci_ids:
                return spec
    for spec in SPECS:
        if name in spec.names:
            return spec
    return None
