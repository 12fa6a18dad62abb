"""ncu's raw CSV page, and counters of a call."""

import csv
import io
import os
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from popcorn.measure import counters
from popcorn.measure.counters import collect_counters, combine, explain, metrics, parse
from popcorn.schema.measurement import KernelCounters

FIXED = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
DURATION = "gpu__time_duration.sum"
DRAM = counters.SHARES["dram_utilisation"]
STALL = counters._STALL.format


def page(kernels, units=None, banner=True):
    """A raw page as `ncu --csv --page raw` writes it: `kernels` are (name, {metric: text})."""
    names = sorted({metric for _, values in kernels for metric in values})
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(FIXED + names)
    writer.writerow([""] * len(FIXED) + [(units or {}).get(name, "ns" if name == DURATION else "%") for name in names])
    for index, (name, values) in enumerate(kernels):
        row = [str(index), "4711", "python3.12", "127.0.0.1", name, "1", "7", "(256, 1, 1)", "(132, 1, 1)", "0", "9.0"]
        writer.writerow(row + [values.get(metric, "n/a") for metric in names])
    before = '==PROF== Connected to process 4711 (/usr/bin/python3.12)\n==PROF== Profiling "k" - 0: 0%....50%....100% - 40 passes\n'
    return (before if banner else "") + out.getvalue() + ("==PROF== Disconnected from process 4711\n" if banner else "")


def test_a_page_with_banner_units_and_thousands_separators_is_read():
    text = page(
        [
            (
                "void my_kernel<256>(float *, int)",
                {
                    DURATION: "12,345.00",
                    DRAM: "91.25",
                    "dram__bytes_read.sum": "1,073,741,824",
                    "launch__registers_per_thread": "40",
                    "launch__shared_mem_per_block_static": "1,024",
                    "launch__shared_mem_per_block_dynamic": "2,048",
                    "launch__block_size": "256",
                    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "1,000,000",
                    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "500,000",
                    counters.PIPES["fma"]: "33.3",
                    counters.PIPES["tensor"]: "80",
                    "sm__ops_path_tensor_src_bf16_dst_fp32.sum": "12345",
                    STALL("long_scoreboard"): "6.0",
                    STALL("wait"): "2.0",
                },
            )
        ],
        units={"dram__bytes_read.sum": "byte", DURATION: "ns"},
    )
    (kernel,) = parse(text)
    assert kernel.name == "void my_kernel<256>(float *, int)"
    assert kernel.time_s == pytest.approx(12.345e-6) and kernel.dram_utilisation == pytest.approx(0.9125)
    assert kernel.dram_read_bytes == 2**30 and kernel.dram_write_bytes is None
    assert (kernel.registers_per_thread, kernel.shared_bytes_per_block, kernel.block_size, kernel.grid_size) == (40, 3072, 256, None)
    assert kernel.flop_per_s["fp32"] == pytest.approx(2.5e6 / 12.345e-6) and kernel.flop_per_s["tensor"] == pytest.approx(1e9)
    assert "fp64" not in kernel.flop_per_s, "a pipe without a counter is unknown, not 0"
    assert (kernel.dominant_pipe, kernel.dominant_pipe_utilisation) == ("tensor", pytest.approx(0.8))
    assert kernel.stalls == {"long_scoreboard": pytest.approx(0.75), "wait": pytest.approx(0.25)}


@pytest.mark.parametrize(
    ("unit", "scale"), [("ns", 1e-9), ("nsecond", 1e-9), ("usecond", 1e-6), ("us", 1e-6), ("msecond", 1e-3), ("second", 1)]
)
def test_every_unit_of_time_becomes_seconds(unit, scale):
    assert parse(page([("k", {DURATION: "3"})], units={DURATION: unit}))[0].time_s == pytest.approx(3 * scale)


@pytest.mark.parametrize("value", ["n/a", "", "nan", "inf", "-1", "(!) n/a", "0x10", "1e999", "no"])
def test_what_is_not_a_number_is_unknown(value):
    (kernel,) = parse(page([("k", {DURATION: "5", DRAM: value})]))
    assert kernel.dram_utilisation is None and kernel.time_s == pytest.approx(5e-9)


def test_a_hostile_name_is_cut_and_cannot_add_a_kernel():
    name = 'x"\n"9","1","a","b","forged","1","7","","","0","9.0","1","100"\n' + "y" * 10**5
    kernels = parse(page([(name, {DURATION: "5", DRAM: "50"})]))
    assert len(kernels) == 1 and len(kernels[0].name) == 200 and kernels[0].dram_utilisation == 0.5


def test_a_torn_last_line_does_not_lose_the_kernels_before_it():
    text = page([("a", {DURATION: "5"}), ("b", {DURATION: "6"})], banner=False)
    assert [kernel.name for kernel in parse(text[: text.rindex('"b"') + 2])] == ["a"]


cells = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(["1,234.5", "n/a", "7", "99.9", '"', ",", "\n", "=="])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(cells, st.dictionaries(st.sampled_from(metrics()), cells, max_size=6)), max_size=4), st.text(max_size=200))
def test_no_text_breaks_the_parser_and_shares_stay_shares(kernels, noise):
    for text in (noise, noise + "\n" + page(kernels), page(kernels) + noise):
        call = combine(parse(text))
        for kernel in call.kernels:
            assert len(kernel.name) <= 200
            for field in counters.SHARES:
                assert getattr(kernel, field) is None or 0 <= getattr(kernel, field) <= 1
            assert not kernel.stalls or sum(kernel.stalls.values()) == pytest.approx(1)


shares = st.none() | st.floats(0, 1)
made = st.builds(
    KernelCounters, name=st.just("k"), time_s=st.none() | st.floats(1e-9, 10), dram_utilisation=shares, occupancy=shares,
    stalls=st.dictionaries(st.sampled_from(counters.STALLS), st.floats(0.01, 1), max_size=8).map(counters._normalised),
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(made, min_size=1, max_size=6))
def test_a_calls_share_lies_between_its_kernels_and_stalls_never_pass_one(kernels):
    call = combine(kernels)
    known = [kernel.dram_utilisation for kernel in kernels if kernel.dram_utilisation is not None and kernel.time_s]
    if known:
        assert min(known) - 1e-9 <= call.dram_utilisation <= max(known) + 1e-9
    else:
        assert call.dram_utilisation is None
    assert len(call.stalls) <= 5 and sum(call.stalls.values()) <= 1 + 1e-9
    assert list(call.stalls.values()) == sorted(call.stalls.values(), reverse=True)
    assert len(call.kernels) == len(kernels)


def test_two_kernels_are_weighted_by_duration_not_summed():
    call = combine(
        [KernelCounters(name="long", time_s=3e-3, dram_utilisation=0.8), KernelCounters(name="short", time_s=1e-3, dram_utilisation=0.4)]
    )
    assert call.dram_utilisation == pytest.approx(0.7) and call.time_s == pytest.approx(4e-3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters",
            "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        ("==ERROR== Failed to initialize the profiler: LibraryNotLoaded", "gVisor"),
        ("==ERROR== Something new", "Something new"),
        ("==WARNING== No kernels were profiled.", "launched none"),
        ("", "launched none"),
    ],
)
def test_no_counters_come_with_the_reason_and_the_fix(text, reason):
    assert reason in explain(text, None)


FAKE_NCU = """#!{python}
import sys
from pathlib import Path
arguments = sys.argv[1:]
log = Path(arguments[arguments.index("--log-file") + 1])
wanted = arguments[arguments.index("--metrics") + 1].split(",")
print("what the command prints is not read:", '"ID","Process ID"')
{body}
"""


@pytest.fixture
def fake_ncu(tmp_path, monkeypatch):
    """An executable that takes ncu's options and does what its body says."""

    def make(body):
        path = tmp_path / "ncu"
        path.write_text(FAKE_NCU.format(python=sys.executable, body=body))
        path.chmod(0o755)
        monkeypatch.setattr(counters, "find_ncu", lambda: str(path))
        return tmp_path

    return make


def test_counters_come_from_ncus_own_file(fake_ncu):
    folder = fake_ncu(f"log.write_text({page([('k', {DURATION: '1000', DRAM: '50'})])!r})")
    call = collect_counters(["true"], os.environ, 20, folder)
    assert call.reason is None and call.time_s == pytest.approx(1e-6) and call.dram_utilisation == 0.5


def test_a_metric_that_the_chip_lacks_is_dropped_and_the_rest_kept(fake_ncu):
    missing = "sm__ops_path_tensor_src_fp8.sum"
    answer = page([("k", {DURATION: "1000"})])
    folder = fake_ncu(f"log.write_text({f'==ERROR== Failed to find metric {missing}'!r} if {missing!r} in wanted else {answer!r})")
    assert collect_counters(["true"], os.environ, 20, folder).time_s == pytest.approx(1e-6)


def test_a_hanging_command_is_killed_with_its_children(fake_ncu):
    folder = fake_ncu(
        "import os, subprocess\nchild = subprocess.Popen(['sleep', '60'])\nPath('child').write_text(str(child.pid))\nchild.wait()"
    )
    started = time.monotonic()
    call = collect_counters(["true"], os.environ, 1.5, folder)
    assert "within 1.5 s" in call.reason and time.monotonic() - started < 10
    status = Path(f"/proc/{(folder / 'child').read_text()}/stat")
    while time.monotonic() - started < 10 and status.exists() and status.read_text().split()[2] != "Z":
        time.sleep(0.02)
    assert not status.exists() or status.read_text().split()[2] == "Z"


def test_a_command_may_be_started_before_its_counters_are_asked_for(fake_ncu):
    answer = page([("k", {DURATION: "1000"})])
    folder = fake_ncu(f"import time\nwhile not Path('told').exists(): time.sleep(0.01)\nlog.write_text({answer!r})")
    watched = counters.watch(["true"], os.environ, folder)
    assert watched.process.poll() is None
    (folder / "told").write_text("")
    assert collect_counters(["true"], os.environ, 60, folder, watched).time_s == pytest.approx(1e-6)


def test_one_that_nobody_asks_ends_when_it_is_killed(fake_ncu):
    watched = counters.watch(["true"], os.environ, fake_ncu("import time\ntime.sleep(600)"))
    watched.kill()
    assert watched.process.poll() is not None
    watched.kill()  # and again, where it had ended by itself


def test_without_ncu_the_reason_names_the_fix(monkeypatch, tmp_path):
    monkeypatch.setattr(counters, "find_ncu", lambda: None)
    call = collect_counters(["true"], os.environ, 1, tmp_path)
    assert call.kernels == () and "install Nsight Compute" in call.reason


@pytest.mark.gpu
def test_real_counters_of_one_product(tmp_path):
    if counters.find_ncu() is None:
        pytest.skip("no ncu here")
    code = (
        "import torch; a = torch.randn(2048, 2048, device='cuda'); a @ a; torch.cuda.synchronize();"
        "torch.cuda.cudart().cudaProfilerStart(); a @ a; torch.cuda.synchronize(); torch.cuda.cudart().cudaProfilerStop()"
    )
    call = collect_counters([sys.executable, "-c", code], os.environ, 120, tmp_path)
    assert call.reason is None, call.reason
    assert (
        len(call.kernels) >= 1
        and 0 < call.time_s < 0.1
        and call.compute_utilisation > 0.1
        and sum(call.kernels[0].stalls.values()) == pytest.approx(1)
    )
