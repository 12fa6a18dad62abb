"""Errors of every rank's answer against the truth: `python -m popcorn.worker.rank_judging FOLDER`, one JSON line out. Needs torch; no candidate runs here."""

import json
import sys
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from popcorn.verify.compare import compare
from popcorn.verify.judge import bound, judge_values


def judge(folder: Path, trials: int, world: int, floor: float, answer: str) -> dict[str, Any]:
    """outcome, reason and the largest errors. `answer`: `got` for a candidate; `reference` or `alone` to examine the problem itself.

    What the last call of a candidate's row gave is held against the first trial's truth, too.
    """
    worst: dict[str, float] = {"mean_error": 0.0, "largest_error": 0.0, "bound": 0.0}
    rows = answer == "got" and (folder / "got" / "row-0.safetensors").exists()
    for trial in [*range(trials), *(["row"] if rows else [])]:
        for rank in range(world):
            known = load_file(folder / "truth" / f"{0 if trial == 'row' else trial}-{rank}.safetensors")
            try:
                given = load_file(folder / "got" / f"{trial}-{rank}.safetensors") if answer == "got" else known
            except (OSError, SafetensorError) as error:
                return _failed("runtime_error", f"rank {rank} left no readable answer: {error}"[:300])
            if answer not in given:
                return {"outcome": "absent", "reason": f"there is no {answer}", "mean_error": None, "largest_error": None, "bound": None}
            got, truth, reference = given[answer], known["truth"], known["reference"]
            where = f"{'a timed call' if trial == 'row' else f'trial {trial}'}, rank {rank}"
            if got.shape != truth.shape:
                return _failed("wrong_shape", f"{where}: {list(got.shape)}; expected {list(truth.shape)}")
            if got.dtype != reference.dtype:
                return _failed("wrong_dtype", f"{where}: {got.dtype}; expected {reference.dtype}")
            errors = compare("out", got, None, truth, reference, None, floor)
            failure = judge_values(errors, floor)
            if failure is not None:
                return _failed(failure.outcome, f"{where}: {failure.reason}")
            if errors.candidate is not None:
                worst["mean_error"] = max(worst["mean_error"], errors.candidate.mean)
                worst["largest_error"] = max(worst["largest_error"], errors.candidate.largest)
                worst["bound"] = bound(errors, "largest", floor)
    return {"outcome": "correct", "reason": "", **worst}


def _failed(outcome: str, reason: str) -> dict[str, Any]:
    return {"outcome": outcome, "reason": reason, "mean_error": None}


if __name__ == "__main__":
    job = json.loads(sys.argv[2])
    print(json.dumps(judge(Path(sys.argv[1]), job["trials"], job["world"], job["floor"], job["answer"])))
