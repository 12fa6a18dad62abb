"""get_gpu_specs: what the device is, from facts already known. Waits for nobody."""

from popcorn.agents.tools.answer import Answer, Tool
from popcorn.agents.workbench import Workbench
from popcorn.devices.specs import find
from popcorn.units import show_bytes, show_rate


async def run(workbench: Workbench, _: str) -> Answer:
    """Facts of the machine, datasheet figures (dense) and, where they were measured here, ceilings."""
    machine = workbench.place.machine()
    spec = find(machine.device_name, machine.pci_id)
    gpu = machine.kind == "cuda"
    lines = [f"device: {machine.device_name} ({machine.device_id})"]
    if gpu:
        lines.append(f"compute capability: {machine.compute_capability} · {machine.multiprocessors} multiprocessors · CUDA {machine.cuda}")
    else:
        lines.append(f"cores: {machine.multiprocessors}; a measurement uses {machine.threads} thread(s) on both sides · {machine.compiler}")
    lines.append(f"memory: {show_bytes(machine.memory_bytes)} · {'L2' if gpu else 'last-level cache'}: {show_bytes(machine.l2_bytes)}")
    if spec is not None:
        peaks = ", ".join(f"{name} {show_rate(rate, 'FLOP')}" for name, rate in sorted(spec.dense_flop_per_s.items()))
        lines.append(f"datasheet, dense (no sparsity): {show_rate(spec.bandwidth_bytes_per_s, 'B')}; {peaks}")
    if machine.bandwidth_bytes_per_s:
        lines.append(f"measured here: {show_rate(machine.bandwidth_bytes_per_s, 'B')}; see ert_roofline for flop rates")
    if gpu:
        lines.append("per block at most: 1024 threads, 255 registers a thread; per multiprocessor: 64K 32-bit registers")
    lines.append(f"torch {machine.torch}" + (f" · triton {machine.triton}" if machine.triton else ""))
    data = machine.model_dump(exclude={"host", "device_uuid"}, exclude_none=True)
    return Answer(text="\n".join(lines), data=data)


TOOL = Tool(
    "get_gpu_specs",
    "The device that judges: memory, caches, bandwidth, dense peak rates, versions. Answers at once.",
    run,
    takes_kernel=False,
)
