"""A clock and a device that do what they are told, so that every rule of measuring has a test without hardware.

`FakeClock` moves only when something takes time on it. `FakeDevice` has streams whose work may end late, an energy counter that steps
and lags as a real one does, a cache flush that costs device time, and throttling from a chosen moment on.
"""

from dataclasses import dataclass, field


class FakeClock:
    """Seconds that pass only when asked. Call it as `time.perf_counter`, hand its `sleep` for `time.sleep`."""

    def __init__(self, start_s: float = 0.0, tick_s: float = 0.0) -> None:
        self.now_s = start_s
        self.tick_s = tick_s

    def __call__(self) -> float:
        """The time now; each reading itself takes `tick_s`."""
        self.now_s += self.tick_s
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Let time pass; a negative duration is refused as `time.sleep` does."""
        if duration_s < 0:
            raise ValueError("sleep length must be non-negative")
        self.now_s += duration_s


@dataclass
class FakeDevice:
    """A device on a `FakeClock`. Work is issued at no cost to the host and done by streams in order; streams run side by side."""

    clock: FakeClock
    idle_w: float = 80.0
    """Power with no stream at work."""
    busy_w: float = 600.0
    """Power with any stream at work."""
    step_s: float = 0.1
    """Time between two steps of the energy counter."""
    phase_s: float = 0.0
    """Time of the counter's first step."""
    lag_s: float = 0.0
    """How old the value is that a step shows."""
    flush_s: float = 60e-6
    """Device time of one cache flush."""
    throttle_at_s: float | None = None
    """From here on the device throttles: work issued later takes `throttle_factor` times as long."""
    throttle_factor: float = 1.5
    full_clock_hz: float = 1.98e9
    streams: dict[int, float] = field(default_factory=dict)
    """When each stream's last work ends."""
    spans: list[tuple[float, float, int]] = field(default_factory=list)
    """Start, end and stream of all work done, in the order issued."""

    source = "fake"

    def launch(self, duration_s: float, stream: int = 0) -> tuple[float, float]:
        """Issue work of this length to a stream; returns its start and end. The host does not wait."""
        if self.throttled():
            duration_s *= self.throttle_factor
        start_s = max(self.clock.now_s, self.streams.get(stream, 0.0))
        self.streams[stream] = start_s + duration_s
        self.spans.append((start_s, start_s + duration_s, stream))
        return start_s, start_s + duration_s

    def flush(self) -> None:
        """Evict the cache: work like any other, on the default stream."""
        self.launch(self.flush_s)

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for every stream, or for one alone: work on the others then ends late."""
        ends = self.streams.values() if stream is None else [self.streams.get(stream, 0.0)]
        self.clock.now_s = max([self.clock.now_s, *ends])

    def late_s(self) -> float:
        """How long after now the device still works: above 0, someone stopped the clock too early."""
        return max(0.0, max(self.streams.values(), default=0.0) - self.clock.now_s)

    def throttled(self) -> bool:
        """True once the moment of throttling has come."""
        return self.throttle_at_s is not None and self.clock.now_s >= self.throttle_at_s

    def sm_clock_hz(self) -> float:
        """Clock of the multiprocessors now."""
        return self.full_clock_hz / (self.throttle_factor if self.throttled() else 1.0)

    def true_energy_j(self, until_s: float | None = None) -> float:
        """Exact energy from 0 to a time (now when None): what the stepping counter only approximates."""
        until_s = self.clock.now_s if until_s is None else until_s
        return until_s * self.idle_w + self._busy_s(until_s) * (self.busy_w - self.idle_w)

    def read_j(self) -> float:
        """The energy counter as software sees it: it moves once a step and shows the energy of `lag_s` before that step."""
        steps = (self.clock() - self.phase_s) // self.step_s
        shown_s = self.phase_s + steps * self.step_s - self.lag_s
        return self.true_energy_j(max(0.0, shown_s))

    def _busy_s(self, until_s: float) -> float:
        """Length of the union of all work before a time."""
        busy_s, reached_s = 0.0, 0.0
        for start_s, end_s, _ in sorted(self.spans):
            start_s, end_s = max(start_s, reached_s), min(end_s, until_s)
            if end_s > start_s:
                busy_s += end_s - start_s
                reached_s = end_s
        return busy_s
