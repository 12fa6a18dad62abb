"""What a reference's call took is asked once for ten minutes, of each problem."""

from popcorn.measure.energy import EnergyReading
from popcorn.worker.energies import VALID_S, Energies


def test_a_reading_stands_for_its_problem_for_ten_minutes_and_for_no_other():
    now = [100.0]
    energies = Energies(clock=lambda: now[0])
    reading = EnergyReading(energy_j=0.5, idle_power_w=90.0)
    energies.keep("softmax", reading)
    now[0] += VALID_S
    assert energies.find("softmax") is reading and energies.find("matmul") is None
    now[0] += 1.0
    assert energies.find("softmax") is None


def test_using_a_reading_again_does_not_make_it_younger():
    now = [0.0]
    energies = Energies(clock=lambda: now[0])
    reading = EnergyReading(energy_j=0.5)
    energies.keep("softmax", reading)
    now[0] = VALID_S - 1
    energies.keep("softmax", reading)
    now[0] = VALID_S + 1
    assert energies.find("softmax") is None


def test_a_reading_that_failed_is_asked_again():
    energies = Energies()
    energies.keep("softmax", EnergyReading(reason="the energy counter did not move"))
    assert energies.find("softmax") is None
