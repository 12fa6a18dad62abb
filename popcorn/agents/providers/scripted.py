"""scripted/<policy>: a deterministic model that writes a sequence of kernels, each better than the one before. Needs Inspect.

`steady` works through kernels/<problem>/ in order, as a careful engineer would: the device's facts, then for each kernel check, build, judge and
profile; it goes on with the next idea and submits the fastest that was correct. It reads tool results and nothing else.
"""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput
from inspect_ai.tool import ToolChoice, ToolFunction, ToolInfo

from popcorn.agents.providers.pointwise import pointwise_kernels
from popcorn.agents.providers.speaking import Heard, fenced, listen, speak

KERNELS = Path(__file__).parent / "kernels"
PLAIN = Path(__file__).parent / "plain"
"""Problems for which it has one idea alone; of those that are one expression (pointwise.py) there are no files."""
_SUFFIX = {"c": ".c", "cpp": ".c", "cuda": ".cu"}
_SPEEDUP = re.compile(r"speedup ([\d.]+)×")

Step = tuple[str, list[tuple[str, dict[str, Any]]], str]
"""Reasoning, calls, text."""


class Scripted(ModelAPI):
    """One policy, by name. `think_s` is how long it thinks before each answer."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        think_s: float = 0.0,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        policy = model_name.rpartition("/")[2]
        if policy not in POLICIES:
            raise ValueError(f"there is no scripted policy {policy!r}; expected one of {', '.join(POLICIES)}")
        self.policy, self.think_s = POLICIES[policy], think_s

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """The policy's next step."""
        if self.think_s:
            await asyncio.sleep(self.think_s)
        must_submit = isinstance(tool_choice, ToolFunction) and tool_choice.name == "submit_kernel"
        reasoning, calls, text = self.policy(listen(input), {tool.name for tool in tools}, must_submit)
        return speak(self.model_name, input, text, calls, reasoning)


def kernels_for(problem: str, language: str) -> list[str]:
    """The kernels of a problem in this language, first idea first; none where nobody wrote any."""
    suffix = _SUFFIX.get(language)
    name = re.sub(r"[^\w]", "_", problem)
    found = sorted(path for folder in (KERNELS, PLAIN) for path in (folder / name).glob(f"*{suffix}")) if suffix else []
    texts = [path.read_text(encoding="utf-8") for path in found] or pointwise_kernels(problem, language)
    return [text.replace("\nint popcorn_forward(", '\nextern "C" int popcorn_forward(') for text in texts] if language == "cpp" else texts


def why(kernel: str) -> str:
    """The thought at the top of a kernel's text."""
    match = re.match(r"/\*\s*(.*?)\s*\*/", kernel, re.DOTALL)
    return " ".join(match[1].split()) if match else "A first version."


def steady(heard: Heard, tools: set[str], must_submit: bool, most: int = 99) -> Step:
    """Facts first, then one kernel after the other, then the best of them."""
    kernels = kernels_for(heard.problem, heard.language)[:most]
    if not kernels:
        return "I know no kernel for this problem in this language.", [], f"I have no {heard.language} kernel for {heard.problem}."
    if not tools:
        return why(kernels[-1]), [], "Here is the kernel.\n\n" + fenced(kernels[-1], heard.language)
    steps: list[Step] = []
    facts: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in ("get_gpu_specs", "ert_roofline") if name in tools]
    if facts:
        steps.append(("What is this device, and what could it do at best?", facts, ""))
    for kernel in kernels:
        given = {"kernel_code": kernel}
        steps.append((why(kernel), [(name, given) for name in ("static_check", "compile_kernel") if name in tools], ""))
        looks: list[tuple[str, dict[str, Any]]] = [(name, given) for name in ("run_correctness", "profile_kernel") if name in tools]
        steps.append(("Is it right, and where does its time go?", looks, ""))
    best = _best(heard, kernels)
    steps.append((f"Version {best + 1} is the best that was right.", [("submit_kernel", {"kernel_code": kernels[best]})], ""))
    return steps[-1] if must_submit else steps[min(heard.turn, len(steps) - 1)]


def brisk(heard: Heard, tools: set[str], must_submit: bool) -> Step:
    """The first two kernels alone: six turns."""
    return steady(heard, tools, must_submit, most=2)


def _best(heard: Heard, kernels: list[str]) -> int:
    """The fastest profiled kernel; without profiles the last one that was judged right; the last where nothing is known."""
    profiles = [text for text in heard.results if text.startswith("profile_kernel")]
    found = [_SPEEDUP.search(text) for text in profiles]
    speeds = [float(match[1]) if match else 0.0 for match in found][: len(kernels)]
    if any(speeds):
        return max(range(len(speeds)), key=speeds.__getitem__)
    right = [text.startswith("run_correctness PASSED") for text in heard.results if text.startswith("run_correctness")][: len(kernels)]
    return max((index for index, passed in enumerate(right) if passed), default=len(kernels) - 1)


POLICIES: dict[str, Callable[[Heard, set[str], bool], Step]] = {"steady": steady, "brisk": brisk}
"""Name → policy."""
