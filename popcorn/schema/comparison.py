"""What one output looks like beside the truth, as numbers: made where the truth is, judged by the parent."""

from popcorn.schema.case import Frozen


class Errors(Frozen):
    """The same statistics for one side: largest, 99.9th percentile, mean, typical."""

    largest: float
    """Maximum."""
    p999: float
    """99.9th percentile."""
    mean: float
    """Mean."""
    typical: float = 0.0
    """Mean in units of max(median of |truth| without zeros, |truth|), each element's at most 1: a few giant elements hide nothing in it."""
    faint: float = 0.0
    """The same of the elements under a thousandth of that median alone, by their own median; 0 where they are under 2 %. What is small beside the
    rest is not left out unseen."""


class Worst(Frozen):
    """The element that is furthest off, for whoever has to find the mistake."""

    index: tuple[int, ...]
    """Its place."""
    got: float
    """What lies there."""
    wanted: float
    """The truth."""
    beyond: int
    """Elements that are off by more than the floor."""


class OutputErrors(Frozen):
    """What one output of one trial looks like beside the truth. All errors relative to max(scale, |truth|)."""

    output: str
    """Path of the output."""
    elements: int
    """Elements compared."""
    exact: bool
    """True for integers and booleans, which must be equal."""
    unequal: int = 0
    """Elements that differ, those undecided apart (exact outputs)."""
    undecided: int = 0
    """Elements of an exact output that rounding alone changes: the reference differs from the truth there, or the truth under nudged inputs."""
    nonfinite: int = 0
    """NaN or infinite elements where the truth is finite."""
    candidate: Errors | None = None
    """Candidate against truth."""
    reference: Errors | None = None
    """Reference at the case's precision against truth."""
    sensitivity: Errors | None = None
    """How far the truth moves when the inputs move by half a unit in the last place."""
    repeat: float | None = None
    """Largest difference between two runs on the same inputs; 0 when bitwise equal, None when run once."""
    max_abs: float | None = None
    """Largest |candidate − truth|."""
    mean_abs: float | None = None
    """Mean |candidate − truth|."""
    max_rel: float | None = None
    """Largest |candidate − truth| / (|truth| + floor × scale)."""
    mean_rel: float | None = None
    """Mean of the same."""
    reference_max_abs: float | None = None
    """Largest |reference − truth|."""
    max_ulp: float | None = None
    """Largest distance in float32 units of the last place."""
    cosine: float | None = None
    """Cosine similarity with the truth."""
    scale: float | None = None
    """rms(truth)."""
    worst: Worst | None = None
    """Only where the largest error is beyond the floor."""
