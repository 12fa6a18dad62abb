"""The table of devices: exact names, PCI ids, dense ceilings."""

import pytest

from popcorn.devices.specs import SPECS, find


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_name_and_pci_id_finds_its_own_row(spec):
    for name in spec.names:
        assert find(name) is spec
    for pci_id in spec.pci_ids:
        assert find("a name that no driver gives", pci_id) is spec
        assert find(None, pci_id.upper()) is spec


def test_no_two_rows_share_an_id_a_name_or_a_pci_id():
    for values in ([s.id for s in SPECS], [n for s in SPECS for n in s.names], [p for s in SPECS for p in s.pci_ids]):
        assert len(values) == len(set(values))


def test_an_h200_is_never_read_as_an_h100():
    h200 = find("NVIDIA H200")
    assert h200 is not None and h200.id == "nvidia-h200-sxm"
    assert h200.bandwidth_bytes_per_s == 4.8e12
    h100 = find("NVIDIA H100 80GB HBM3")
    assert h100 is not None and h100.id == "nvidia-h100-sxm" and h100.bandwidth_bytes_per_s == 3.35e12


@pytest.mark.parametrize(
    "name", ["NVIDIA H100", "H100", "NVIDIA H200 NVL 141GB", "nvidia h200", "NVIDIA GeForce RTX 4090 Laptop GPU", "", None]
)
def test_a_part_of_a_name_finds_nothing(name):
    assert find(name) is None


def test_an_unknown_pci_id_falls_back_to_the_exact_name_only():
    assert find("NVIDIA H200", "10de:ffff") is find("NVIDIA H200")
    assert find("NVIDIA H100", "10de:2339") is None, "the 64 GB H100 has figures of its own, which the table does not hold"


def test_the_pci_id_decides_when_a_name_disagrees():
    found = find("NVIDIA H100 80GB HBM3", "10de:2335")
    assert found is not None and found.id == "nvidia-h200-sxm"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_sparse_rates_are_twice_the_dense_ones_and_never_among_them(spec):
    assert "float32" not in spec.sparse_flop_per_s and "float64" not in spec.sparse_flop_per_s
    for precision, rate in spec.sparse_flop_per_s.items():
        assert rate == pytest.approx(2 * spec.dense_flop_per_s[precision])


def test_hopper_dense_bf16_is_the_dense_figure_not_the_printed_one():
    h100 = find("NVIDIA H100 80GB HBM3")
    assert h100 is not None
    assert h100.dense_flop_per_s["bfloat16"] == pytest.approx(989.5e12)
    assert h100.dense_flop_per_s["tf32"] == pytest.approx(494.75e12)
    assert h100.sparse_flop_per_s["bfloat16"] == pytest.approx(1979e12)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_row_is_complete_and_of_a_sensible_size(spec):
    assert spec.source and spec.tdp_w > 50
    assert 20e9 < spec.memory_bytes < 300e9 and 200e9 < spec.bandwidth_bytes_per_s < 10e12
    assert {"float32", "tf32", "float16", "bfloat16"} <= set(spec.dense_flop_per_s)
    assert all(1e13 < rate < 1e16 for rate in spec.dense_flop_per_s.values())
    assert spec.dense_flop_per_s["tf32"] < spec.dense_flop_per_s["bfloat16"]
