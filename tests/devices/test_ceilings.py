"""Ceilings measured here, and kept."""

import json
import os
import subprocess
import sys
import time

import pytest

from popcorn.devices.ceilings import Ceilings, load_ceilings, measure_ceilings, save_ceilings, with_ceilings
from popcorn.devices.host import last_level_cache_bytes
from popcorn.devices.probe import probe


@pytest.fixture(scope="module")
def measured():
    return measure_ceilings("cpu", seconds=0.6)


def test_a_cpu_has_a_bandwidth_and_a_rate_per_precision(measured):
    assert set(measured.streams) == {"copy", "read", "fill"}
    assert measured.bandwidth_bytes_per_s == max(measured.streams.values())
    assert 1e8 < measured.bandwidth_bytes_per_s < 1e13
    assert set(measured.flop_per_s) | set(measured.reasons) == {"float32", "float64", "bfloat16"}
    assert all(1e8 < rate < 1e15 for rate in measured.flop_per_s.values()) and len(measured.flop_per_s) >= 2
    assert measured.threads >= 1


def test_the_streams_are_far_larger_than_the_last_cache(measured):
    cache = last_level_cache_bytes()
    assert measured.stream_bytes >= 2**20
    if cache is not None:
        assert measured.stream_bytes >= 2 * cache


def test_the_time_is_bounded():
    started = time.process_time()
    measure_ceilings("cpu", seconds=0.2)
    assert time.process_time() - started < 60


def test_the_settings_of_float32_products_are_put_back(measured):
    import torch

    assert torch.get_float32_matmul_precision() == "highest"


def test_ceilings_are_kept_per_machine_torch_and_threads(measured, tmp_path):
    machine = probe("cpu")
    assert load_ceilings(machine, tmp_path) is None
    path = save_ceilings(measured, machine, tmp_path)
    found = load_ceilings(machine, tmp_path)
    assert found.flop_per_s == measured.flop_per_s and found.device_id == machine.device_id
    assert load_ceilings(machine.model_copy(update={"torch": "9.9.9"}), tmp_path) is None
    assert load_ceilings(machine.model_copy(update={"threads": 99}), tmp_path) is None
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name], "nothing is left aside"


def test_a_file_of_another_machine_or_a_torn_one_does_not_count(measured, tmp_path):
    machine = probe("cpu")
    path = save_ceilings(measured, machine, tmp_path)
    other = json.loads(path.read_text()) | {"device_id": "cpu-other-4c"}
    path.write_text(json.dumps(other))
    assert load_ceilings(machine, tmp_path) is None
    path.write_text(path.read_text()[:40])
    assert load_ceilings(machine, tmp_path) is None


def test_a_measurement_on_a_busy_machine_does_not_lower_what_was_kept(tmp_path):
    machine = probe("cpu")
    calm = Ceilings(bandwidth_bytes_per_s=9e10, streams={"copy": 5e10, "read": 9e10}, flop_per_s={"float32": 2e11}, sizes={"float32": 4096})
    busy = Ceilings(
        bandwidth_bytes_per_s=6e10, streams={"copy": 6e10, "read": 3e10}, flop_per_s={"float32": 1e11, "float64": 4e10},
        sizes={"float32": 512, "float64": 1024}, reasons={"bfloat16": "no"},
    )  # fmt: skip
    save_ceilings(calm, machine, tmp_path)
    save_ceilings(busy, machine, tmp_path)
    found = load_ceilings(machine, tmp_path)
    assert found.bandwidth_bytes_per_s == 9e10 and found.streams == {"copy": 6e10, "read": 9e10}
    assert found.flop_per_s == {"float32": 2e11, "float64": 4e10} and found.sizes == {"float32": 4096, "float64": 1024}
    assert found.reasons == {"bfloat16": "no"}


def test_what_a_fit_run_measured_stays_so_when_a_busy_one_adds_to_it(tmp_path):
    machine = probe("cpu")
    for one in (Ceilings(), Ceilings(fit=True), Ceilings()):
        save_ceilings(one, machine, tmp_path)
    assert load_ceilings(machine, tmp_path).fit


def test_a_machine_takes_the_ceilings_over():
    machine = with_ceilings(probe("cpu"), Ceilings(bandwidth_bytes_per_s=1e10, flop_per_s={"float32": 1e11}))
    assert machine.bandwidth_bytes_per_s == 1e10 and machine.flop_per_s == {"float32": 1e11}


def test_reading_kept_ceilings_does_not_import_torch(tmp_path):
    code = (
        "import sys; from pathlib import Path; from popcorn.devices.ceilings import load_ceilings; from popcorn.devices.probe import probe;"
        f"load_ceilings(probe('cpu'), Path({str(tmp_path)!r})); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


@pytest.mark.gpu
def test_a_gpus_ceilings_lie_under_its_datasheet():
    from popcorn.devices.specs import find

    machine = probe("cuda:0")
    spec = find(machine.device_name, machine.pci_id)
    measured = measure_ceilings("cuda:0")
    assert set(measured.flop_per_s) == {"float32", "tf32", "bfloat16", "float16", "float64"}, measured.reasons
    assert measured.flop_per_s["bfloat16"] > 2 * measured.flop_per_s["float32"]
    if spec is not None:
        assert 0.5 * spec.bandwidth_bytes_per_s < measured.bandwidth_bytes_per_s < 1.02 * spec.bandwidth_bytes_per_s
        for precision, rate in measured.flop_per_s.items():
            if precision in spec.dense_flop_per_s:
                assert rate < 1.05 * spec.dense_flop_per_s[precision], precision
