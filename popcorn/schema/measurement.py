"""Measurement: how good is it? Every number with its unit in its name, its spread, and a reason where it is unknown."""

from typing import Literal

from popcorn.schema.case import Frozen

Comparison = Literal["faster", "slower", "no difference"]
Bound = Literal["memory", "compute", "latency"]
SolSource = Literal["counters", "model"]


class Interval(Frozen):
    """A value with its 95 % interval (Student's t over the launches' medians)."""

    value: float
    """The estimate."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end of the 95 % interval."""


class Samples(Frozen):
    """One side of a timing: its estimates and every raw sample."""

    time_s: float
    """Device time per call, cold cache: geometric mean over launches of each one's median over blocks."""
    low_s: float
    """Lower end of its 95 % interval."""
    high_s: float
    """Upper end of its 95 % interval."""
    p10_s: float
    """10th percentile of the raw samples."""
    p90_s: float
    """90th percentile of the raw samples."""
    mean_s: float
    """Mean of the raw samples."""
    std_s: float | None = None
    """Standard deviation of the raw samples; None with one sample."""
    warm_time_s: float | None = None
    """Time per call with the same inputs again and again, caches warm."""
    host_time_s: float | None = None
    """Time the host needs to issue one call (launch overhead); on a CPU the same as the time itself."""
    first_call_s: float | None = None
    """The first call in a fresh process, with any just-in-time compilation."""
    blocks_s: tuple[tuple[tuple[float, ...], ...], ...] = ()
    """Every raw sample in seconds: launch, then block, then call, in the order taken."""


class Control(Frozen):
    """What the machine's own controls showed in the run that took these numbers."""

    aa: Interval | None = None
    """Ratio of the reference to itself; its interval must hold 1."""
    planted: Interval | None = None
    """Ratio found for a planted slowdown; its lower end must exceed the A/A noise."""
    plant: float = 1.05
    """The slowdown that was planted: more than 1.05× on a GPU where 5 % of a call are less than the start of another kernel takes."""
    noise: float | None = None
    """Half-width below which "faster" is not said: from the A/A control."""
    fit: bool | None = None
    """False marks every number of the run as unfit; None when no control was run."""
    reason: str | None = None
    """Why it is unfit or was not run."""


class Timing(Frozen):
    """How fast, against which baseline, and how sure."""

    candidate: Samples
    """The candidate's side."""
    baseline: Samples
    """The reference in eager mode, in the same run, taking turns with the candidate."""
    speedup: Interval
    """baseline time / candidate time, above 1 is faster; interval over launches and blocks."""
    compiled: Samples | None = None
    """The reference under torch.compile, measured here, once per problem and machine."""
    speedup_compiled: Interval | None = None
    """torch.compile's time / candidate time."""
    compiled_reason: str | None = None
    """Why there is no torch.compile figure."""
    comparison: Comparison
    """`faster` or `slower` only where the interval leaves 1 by more than the noise; else `no difference`."""
    method: str
    """Instrument and design: `perf_counter, 3 launches × 8 blocks ABBA`, `cupti …`, `cuda events …`."""
    stopped_by: Literal["interval", "budget"]
    """What ended the measuring: the ±1 % interval was reached, or the time was used up."""
    parent_time_s: float | None = None
    """Time per call by the parent's own clock around a batch: the check on the child's clock."""
    control: Control = Control()
    """The A/A and planted-slowdown controls of this run."""


class Memory(Frozen):
    """Device memory one call needs beyond what was resident before it (inputs, weights)."""

    peak_bytes: int | None = None
    """Peak during the call minus resident before it."""
    output_bytes: int | None = None
    """Bytes of the outputs themselves."""
    workspace_bytes: int | None = None
    """Peak minus outputs."""
    saved_bytes: int | None = None
    """Bytes kept between forward and backward; None without gradients."""
    baseline_peak_bytes: int | None = None
    """The same peak for the reference."""
    ratio: float | None = None
    """candidate peak / baseline peak; lower is better."""
    reason: str | None = None
    """Why a figure is missing."""


class Kernel(Frozen):
    """One device kernel seen during a call."""

    name: str
    """Demangled name, cut to 200 characters."""
    launches: int
    """Launches in one call."""
    time_s: float
    """Device time of all its launches in one call."""
    library: bool = False
    """True when the kernel belongs to a vendor library or to torch, by its name's owner."""


class Launches(Frozen):
    """Device work of one call, by activity records; on a CPU the operators dispatched."""

    kernels: int | None = None
    """Device kernels launched (CPU: torch operators dispatched)."""
    copies: int | None = None
    """Memory copies and fills, apart from kernels."""
    baseline_kernels: int | None = None
    """The same count for the reference."""
    fusion_ratio: float | None = None
    """baseline kernels / candidate kernels."""
    device_time_s: float | None = None
    """Sum of kernel times in one call."""
    call_s: float | None = None
    """CPU: the whole call in which the operators were timed."""
    custom_share: float | None = None
    """Share of the time spent in kernels that no library owns (CPU: outside torch's operators)."""
    track: Literal["custom", "any"] | None = None
    """`custom`: the candidate's own code does at least half of the work. `any`: a library does."""
    track_reason: str | None = None
    """The share that decided, or why nothing could."""
    breakdown: tuple[Kernel, ...] = ()
    """The longest kernels, at most ten."""
    source: str | None = None
    """The instrument: `cupti` or `dispatch`."""
    reason: str | None = None
    """Why a figure is missing."""


class Energy(Frozen):
    """Energy of one call, from a burst of calls long enough for the counter."""

    energy_j: float | None = None
    """Joules per call, candidate, idle power not subtracted."""
    low_j: float | None = None
    """Lower end of its interval (the counter's step over the burst)."""
    high_j: float | None = None
    """Upper end."""
    baseline_energy_j: float | None = None
    """Joules per call of the reference."""
    ratio: float | None = None
    """candidate / baseline; lower is better."""
    power_w: float | None = None
    """Mean power during the candidate's burst."""
    idle_power_w: float | None = None
    """Power measured before the burst with nothing running."""
    burst_s: float | None = None
    """Length of the burst."""
    source: str | None = None
    """`nvml` or `rapl`."""
    reason: str | None = None
    """Why it is None."""


class Roofline(Frozen):
    """How near the limit of the machine, and which limit."""

    sol: float | None = None
    """Speed of light in [0, 1]: the headline, from `sol_source`."""
    sol_source: SolSource | None = None
    """`counters` (Nsight Compute) or `model` (declared bytes and flops over measured ceilings). Never mixed."""
    sol_counters: float | None = None
    """max(dram, compute utilisation) from counters, weighted by duration over the call's kernels."""
    sol_model: float | None = None
    """max(bytes / bandwidth, flops / peak) / time from the problem's declared minimum."""
    bound: Bound | None = None
    """`memory`, `compute`, or `latency` (too short to reach either)."""
    min_bytes: float | None = None
    """Fewest bytes that must move, declared by the problem."""
    flops: float | None = None
    """Floating-point operations that must be done, declared by the problem."""
    floor_s: float | None = None
    """The time that these cannot go under on this machine."""
    bandwidth_bytes_per_s: float | None = None
    """Achieved: min_bytes / time."""
    flop_per_s: float | None = None
    """Achieved: flops / time."""
    arithmetic_intensity: float | None = None
    """flops / min_bytes."""
    ridge_flop_per_byte: float | None = None
    """Intensity at which this machine turns from memory to compute bound (dense peak)."""
    peak_bandwidth_bytes_per_s: float | None = None
    """The ceiling used, measured here where possible."""
    peak_flop_per_s: float | None = None
    """The ceiling used, dense, for the case's precision."""
    ceiling_source: Literal["measured", "datasheet"] | None = None
    """Where the two ceilings come from."""
    reason: str | None = None
    """Why a figure is missing."""


class KernelCounters(Frozen):
    """Nsight Compute's counters of one kernel launch. Shares are in [0, 1]."""

    name: str
    """Demangled name."""
    time_s: float | None = None
    """gpu__time_duration."""
    dram_utilisation: float | None = None
    """Share of peak DRAM throughput."""
    compute_utilisation: float | None = None
    """Share of peak SM throughput."""
    dram_read_bytes: float | None = None
    """Bytes read from DRAM."""
    dram_write_bytes: float | None = None
    """Bytes written to DRAM."""
    occupancy: float | None = None
    """Achieved occupancy: active warps over the most possible."""
    l1_hit: float | None = None
    """L1 hit rate."""
    l2_hit: float | None = None
    """L2 hit rate."""
    load_sectors_per_request: float | None = None
    """Sectors per global load request; 4 is perfect for 4-byte accesses."""
    store_sectors_per_request: float | None = None
    """Sectors per global store request."""
    registers_per_thread: int | None = None
    """Registers per thread."""
    shared_bytes_per_block: int | None = None
    """Shared memory per block, static and dynamic."""
    block_size: int | None = None
    """Threads per block."""
    grid_size: int | None = None
    """Blocks in the grid."""
    flop_per_s: dict[str, float] = {}
    """Achieved flop rate by pipe: fp32, fp16, fp64, tensor."""
    dominant_pipe: str | None = None
    """The busiest compute pipe."""
    dominant_pipe_utilisation: float | None = None
    """Its utilisation."""
    stalls: dict[str, float] = {}
    """Warp stall reasons as shares of all stall cycles; they add up to 1."""


class Counters(Frozen):
    """Counters of a whole call: shares weighted by each kernel's duration, never summed."""

    kernels: tuple[KernelCounters, ...] = ()
    """The kernel launches of one call, longest first."""
    of_kernels: int | None = None
    """Launches of the call where it has more than were counted, which are the first ones then."""
    time_s: float | None = None
    """Sum of the durations of these kernels."""
    dram_utilisation: float | None = None
    """Duration-weighted."""
    compute_utilisation: float | None = None
    """Duration-weighted."""
    occupancy: float | None = None
    """Duration-weighted."""
    l1_hit: float | None = None
    """Duration-weighted."""
    l2_hit: float | None = None
    """Duration-weighted."""
    stalls: dict[str, float] = {}
    """The five largest stall reasons, duration-weighted shares."""
    reason: str | None = None
    """Why there are none (`ncu not found: …`)."""


class Ranks(Frozen):
    """A candidate that communicates: the processes that took part, and each one's own clock beside the parent's."""

    world: int
    """Processes, two or more."""
    backend: Literal["nccl", "gloo"]
    """What they spoke over: NCCL between GPUs, Gloo between CPU processes."""
    candidate_s: tuple[float, ...]
    """Per rank, the median time of a single call by the rank's own clock, from a barrier to its own end."""
    reference_s: tuple[float, ...]
    """The same for the reference."""
    calls: int
    """Calls of a row between the parent's two looks at its clock."""


class Measurement(Frozen):
    """Everything measured about a correct candidate. There is none without a pass."""

    timing: Timing | None = None
    """How fast."""
    memory: Memory = Memory()
    """How much memory."""
    launches: Launches = Launches()
    """How many kernels."""
    energy: Energy = Energy()
    """How many joules."""
    roofline: Roofline = Roofline()
    """How near the limit."""
    counters: Counters = Counters()
    """What the hardware counters say."""
    ranks: Ranks | None = None
    """Who took part, for a problem of communication; None for all others, which run in one process."""
