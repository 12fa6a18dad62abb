"""A problem as a task of OpenEvolve or ShinkaEvolve, whose evaluator is ours: their search and ours are then judged by the same judge."""

import json
import re
from pathlib import Path

from popcorn.errors import BadSearch
from popcorn.search.edits import split
from popcorn.suites.problems import Problem, statement
from popcorn.toolchain.languages import SUFFIX

FRAMEWORKS = ("openevolve", "shinkaevolve")

_ASK = '''"""Asks Popcorn for the verdict on one program."""

import json
import math
import subprocess
import sys

PROBLEM = {problem!r}
LANGUAGE = {language!r}


def judge(path, timeout_s=900):
    """The record of `popcorn eval`, as data; None where it made none."""
    command = [sys.executable, "-m", "popcorn.cli.main", "eval", PROBLEM, path, "--language", LANGUAGE, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    try:
        return json.loads(done.stdout), done.stderr[-4000:]
    except ValueError:
        return None, done.stderr[-4000:]


def score(record):
    """(correct, score, words): the log of the sure speedup plus one; below it how far the program came. Never higher for a wrong program."""
    if record is None:
        return False, 0.0, "no record"
    verdict, timing = record["verdict"], record["measurement"]["timing"]
    if verdict["outcome"] != "correct":
        ladder = {{"compile_error": 0.05, "crash": 0.1, "timeout": 0.1, "runtime_error": 0.1, "wrong_shape": 0.2, "wrong_values": 0.3}}
        return False, ladder.get(verdict["outcome"], 0.0), str(verdict["outcome"]) + ": " + str(verdict["reason"])
    low = timing["speedup"]["low"] if timing else 1.0
    return True, 1.0 + max(0.0, 1.0 + math.log(max(low, 1e-6)) / 5), "speedup " + str(timing["speedup"] if timing else None)
'''
_OPEN = '''"""OpenEvolve's evaluator."""

from asking import judge, score


def evaluate(program_path):
    record, said = judge(program_path)
    correct, combined, words = score(record)
    metrics = {"combined_score": combined, "correct": 1.0 if correct else 0.0}
    try:
        from openevolve.evaluation_result import EvaluationResult
    except ImportError:
        return metrics
    return EvaluationResult(metrics=metrics, artifacts={"verdict": words, "stderr": said})
'''
_SHINKA = '''"""ShinkaEvolve's evaluator: writes metrics.json and correct.json into the results folder."""

import argparse
import json
from pathlib import Path

from asking import judge, score


def main(program_path, results_dir):
    record, said = judge(program_path)
    correct, combined, words = score(record)
    folder = Path(results_dir)
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {"combined_score": combined, "public": {"verdict": words}, "private": {}, "text_feedback": words + "\\n" + said}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "correct.json").write_text(json.dumps({"correct": correct, "error": None if correct else words}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", required=True)
    parser.add_argument("--results_dir", required=True)
    given = parser.parse_args()
    main(given.program_path, given.results_dir)
'''
_YAML = """max_iterations: 60
prompt:
  system_message: {message}
evaluator:
  timeout: 900
  parallel_evaluations: 1
file_suffix: "{suffix}"
language: {language}
"""


def export(problem: Problem, framework: str, to: Path, seed: str | None, language: str) -> list[Path]:
    """Write the task; the files written. Raises BadSearch for a framework or language that is not known, or without a seed."""
    if framework not in FRAMEWORKS:
        raise BadSearch(f"{framework!r} is not a framework that tasks are written for; choose {' or '.join(FRAMEWORKS)}.")
    if seed is None:
        raise BadSearch(f"{framework} begins with a program: give a kernel with --seed-file.")
    suffix = SUFFIX.get(language, ".py")
    mark = "#" if suffix == ".py" else "//"
    marked = seed if split(seed) else f"{mark} EVOLVE-BLOCK-START\n{seed.rstrip()}\n{mark} EVOLVE-BLOCK-END\n"
    message = f"Improve this {language} kernel. It is judged against:\n{statement(problem)}"
    files = {f"initial{suffix}": marked, "asking.py": _ASK.format(problem=_name(problem), language=language)}
    if framework == "openevolve":
        files |= {"evaluator.py": _OPEN, "config.yaml": _YAML.format(message=json.dumps(message), suffix=suffix, language=language)}
    else:
        files |= {"evaluate.py": _SHINKA, "task.md": message}
    to.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (to / name).write_text(text, encoding="utf-8")
    return [to / name for name in files]


def _name(problem: Problem) -> str:
    return problem.id if re.fullmatch(r"(popcorn|original)/L\d+/\d+", problem.id) else problem.path
