"""torch's global settings after a call are those before the candidate was imported, and so are the functions that time and judge.

Catches: tf32 or a lower matmul precision switched on for itself in a call, another default dtype (45); a clock, an event, a synchronisation or a comparison replaced by one of its own (6), though nothing here would have called it.
Does not catch: settings changed and put back within a call (`truth` judges the values); a process that lies about them. Those that a module or a
constructor changes are put back and accuse nobody, but for the default dtype, which stays as they want it: their outputs' types are judged.
"""

from popcorn.verify.defences.finding import Finding

BY = "check"
ENFORCED_IN = "popcorn.worker.judging"

UNFAIR = (
    "default_dtype", "matmul_precision", "cuda_matmul_tf32", "cudnn_tf32", "fp16_reduction", "bf16_reduction",
)  # fmt: skip
"""Settings that change what is compared: precision. More threads change nothing: both sides are pinned to the same cores (`cores`), and honest files
ask for as many as the machine has."""


FUNCTION = "function "
"""How the names of watched functions begin."""


def find(changed: object) -> Finding | None:
    """`changed` is name → [before, after], as reported by the candidate's process."""
    for name in changed if isinstance(changed, dict) else ():
        if str(name).startswith(FUNCTION):
            return Finding("cheated", f"{str(name)[len(FUNCTION) :][:60]} was replaced by the candidate")
    for name in UNFAIR:
        pair = changed.get(name) if isinstance(changed, dict) else None
        if isinstance(pair, list) and len(pair) == 2:
            return Finding("cheated", f"torch's {name} is {str(pair[1])[:60]} after a call and was {str(pair[0])[:60]}")
    return None


def remarks(changed: object) -> list[str]:
    """Settings that were changed and are nobody's harm."""
    named = changed if isinstance(changed, dict) else {}
    return [f"torch's {str(name)[:40]} was changed by the candidate" for name in list(named)[:8] if name not in UNFAIR]
