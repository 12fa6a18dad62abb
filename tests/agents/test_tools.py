"""Each tool by itself, on an engine that judges by a word; the registry, the tiers, the models, the prompts."""

import asyncio
import shutil
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popcorn.agents.budget import Budget, Spent, last_turn, over, warnings
from popcorn.agents.extracting import find_kernel
from popcorn.agents.models import Row, find_model, models, open_model
from popcorn.agents.place import devices_needed
from popcorn.agents.prompts import FOLDER, render, write_system, write_task
from popcorn.agents.tiers import find_tier, tiers
from popcorn.agents.tools.answer import MAX_TEXT, cut
from popcorn.agents.tools.registry import find_tool, tools
from popcorn.agents.workbench import MAX_KERNEL_BYTES, Settings, Workbench
from popcorn.errors import BadAgent
from popcorn.schema.run import Tokens
from popcorn.suites.problems import find_problem, list_problems
from popcorn.toolchain import assembly
from tests.agents.judge import SETTINGS, WRONG, WordEngine, place_with, right
from tests.made_records import make_record

NAMES = {
    "get_gpu_specs", "static_check", "compile_kernel", "run_correctness", "profile_kernel", "disassemble_kernel", "ert_roofline", "submit_kernel",
}  # fmt: skip


@pytest.fixture
def workbench() -> Workbench:
    return Workbench(place_with(), find_problem("original/L1/36"), SETTINGS)


def use(workbench: Workbench, name: str, source: str = ""):
    return asyncio.run(workbench.use(find_tool(name), source))


def test_every_file_of_the_folder_is_a_tool_with_a_summary():
    assert set(tools()) == NAMES
    assert all(tool.name == name and 20 < len(tool.summary) < 250 for name, tool in tools().items())


def test_every_tool_of_a_tier_exists_and_a_user_can_add_a_tier(tmp_path):
    assert set(find_tier("all").tools) == NAMES and find_tier("single").tools == ()
    mine = tmp_path / "tiers.toml"
    mine.write_text('[quick]\ntools = ["compile_kernel", "submit_kernel"]\nmax_turns = 2\n')
    assert find_tier("quick", mine).max_turns == 2 and "default" in tiers(mine)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[a]\ntools = ["no_such_tool", "submit_kernel"]', "no tool 'no_such_tool'"),
        ('[a]\ntools = ["compile_kernel"]', "not submit_kernel"),
        ("[a]\nmax_turnz = 3", "max_turnz"),
        ("[a", "cannot be read"),
    ],
)
def test_a_wrong_tier_is_refused_in_one_sentence(tmp_path, text, says):
    path = tmp_path / "tiers.toml"
    path.write_text(text)
    with pytest.raises(BadAgent, match=says):
        tiers(path)


def test_specs_and_the_static_check_answer_at_once_and_ask_no_engine(workbench):
    use(workbench, "static_check", right(2))  # the parser is loaded once
    specs, check = use(workbench, "get_gpu_specs"), use(workbench, "static_check", right(3))
    assert specs.ok and "cores" in specs.text and check.ok and workbench.place.engine.requests == []
    assert specs.queue_s == check.queue_s == 0 and "host" not in specs.data


def test_the_static_check_says_what_is_missing(workbench):
    answer = use(workbench, "static_check", "int x;")
    assert not answer.ok and "popcorn_forward" in answer.text


def test_a_text_in_another_language_is_told_so(workbench):
    workbench.settings = Settings("triton")
    answer = use(workbench, "run_correctness", "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n")
    assert not answer.ok and answer.outcome == "compile_error" and "not in triton" in answer.text


def test_what_a_tool_found_decides_which_kernel_is_best(workbench):
    for name, source in [
        ("run_correctness", right(9)),
        ("profile_kernel", right(2)),
        ("profile_kernel", right(4)),
        ("profile_kernel", WRONG),
    ]:
        use(workbench, name, source)
    assert workbench.best.speedup == 4 and workbench.last.source == WRONG and workbench.submitted is None
    use(workbench, "submit_kernel", right(4))
    assert workbench.submitted.record_id and workbench.submitted.speedup == 4


def test_sizes_and_kinds_are_checked_before_anybody_reads(workbench):
    assert use(workbench, "compile_kernel", "x" * (MAX_KERNEL_BYTES + 1)).error == "limit"
    assert use(workbench, "compile_kernel", "  ").error == "parsing"
    assert workbench.place.engine.requests == [] and workbench.last is None


@given(st.text(max_size=20_000), st.integers(min_value=300, max_value=9_000))
def test_a_cut_text_keeps_head_and_tail_within_the_limit(text, limit):
    short = cut(text, limit)
    assert len(short) <= limit + 60 and (short == text if len(text) <= limit else text[:100] == short[:100] and text[-50:] == short[-50:])


def test_answers_are_short(workbench):
    assert all(len(use(workbench, name, right(2)).text) <= MAX_TEXT for name in NAMES - {"ert_roofline", "disassemble_kernel"})


# -- budgets


def test_each_budget_ends_by_its_own_name():
    budget = Budget(turns=3, tool_calls=5, tokens=100, cost_usd=1.0, wall_s=10.0)
    assert over(budget, Spent()) is None
    assert over(budget, Spent(turns=3)) == "turns" and over(budget, Spent(tool_calls=5)) == "tool_calls"
    assert (
        over(budget, Spent(tokens=100)) == "tokens"
        and over(budget, Spent(cost_usd=1.0)) == "money"
        and over(budget, Spent(wall_s=11)) == "wall"
    )
    assert over(Budget(turns=1, tool_calls=0), Spent()) is None


@given(st.integers(1, 50), st.integers(1, 50), st.integers(0, 49), st.integers(0, 49))
def test_the_last_turn_is_said_before_a_count_runs_out(turns, calls, used_turns, used_calls):
    budget, spent = Budget(turns, calls), Spent(min(used_turns, turns - 1), min(used_calls, calls - 1))
    assert over(budget, spent) is None
    if last_turn(budget, spent):
        assert over(budget, Spent(spent.turns + 1, spent.tool_calls + 1)) is not None
    if warnings(budget, spent):
        assert budget.turns - spent.turns <= 2 or budget.tool_calls - spent.tool_calls <= 3


# -- models


def test_every_shipped_row_is_whole_and_an_offline_model_costs_nothing():
    assert {"scripted/steady", "baseline/eager", "baseline/compile"} <= set(models())
    assert find_model("scripted/brisk").cost_usd(Tokens(input=10, output=5)) == 0
    assert all(row.price is None or row.priced or row.price.input == 0 for row in models().values())


def test_cached_tokens_cost_less_and_an_unknown_price_is_unknown():
    row = Row(name="a", provider="a/b", price={"input": 2, "cached": 1, "output": 4})
    assert row.cost_usd(Tokens(input=1_000_000, cached=500_000, output=1_000_000)) == pytest.approx(1 + 0.5 + 4)
    assert Row(name="a", provider="a/b").cost_usd(Tokens(input=1, output=1)) is None
    assert find_model("openai/some-new-model").price is None


def test_an_unknown_model_and_a_missing_key_end_in_one_sentence(monkeypatch, tmp_path):
    with pytest.raises(BadAgent, match="no model 'nobody'"):
        find_model("nobody")
    monkeypatch.delenv("XAI_API_KEY", raising=False)
    with pytest.raises(BadAgent, match="set XAI_API_KEY"):
        open_model(find_model("grok"))
    with pytest.raises(BadAgent, match="no scripted policy 'mad'"):
        open_model(find_model("scripted/mad"))
    mine = tmp_path / "models.toml"
    mine.write_text('[mine]\nprovider = "openai-api/mine/x"\nendpoint = "http://localhost:1/v1"\n')
    assert find_model("mine", mine).endpoint == "http://localhost:1/v1"


# -- prompts


def test_a_name_that_a_template_lacks_is_an_error():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        render("task")


@pytest.mark.parametrize("language", [path.stem for path in (FOLDER / "languages").glob("*.jinja") if path.stem != "native"])
def test_every_language_has_its_contract_and_nothing_hidden_shows(language):
    place = place_with()
    for problem in (find_problem("popcorn/L1/29"), find_problem("original/L1/36")):
        text = write_task(problem, Settings(language), place)
        assert f"Language: {language}" in text and ("ModelNew" in text or "popcorn_forward" in text)
        assert "Dim(" not in text and "min_bytes" not in text and "flops" not in text
    assert "from 2 to 8" in write_task(find_problem("popcorn/L1/29"), Settings(language), place)


def test_the_system_prompt_names_the_tools_and_the_budget():
    tier = find_tier("all")
    text = write_system(tier, Budget.of(tier))
    assert all(name in text for name in NAMES) and "15 turns and 50 tool calls" in text
    assert "no tools" in write_system(find_tier("single"), Budget(1, 0))


# -- kernels in text, devices, machine code

C = "int popcorn_forward(void) { return 0; }\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"a\n```c\nint x;\n```\nb\n```c\n{C}```\n", C),
        (f"```c\n{C}```\nand an example:\n```\nx = 1\n```", C),
        (f"```c\n{C}", C),
        (f"```c\n{C}<｜end▁of▁sentence｜>", C),
        (C, C),
        ("no kernel here", None),
        ("```text\nonly a plan\n```", "only a plan\n"),
        ("", None),
    ],
)
def test_the_kernel_is_found_in_a_text(text, found):
    assert find_kernel(text, "c") == found


TORCH = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
HOLDS_A_FENCE = 'NOTE = """\n```cuda\n__global__ void k() {}\n```\n"""\n' + TORCH


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"so:\n```python\n{TORCH}```\nbye\n".replace("\n", "\r\n"), TORCH),
        (f"<think>\n```python\n{TORCH.replace('1', '2')}```\n</think>\n{TORCH}", TORCH),
        (f"<thinking>a try\n```python\n{TORCH}```\nit is right</thinking>", TORCH),
        (f"Here it is: ```python\n{TORCH.strip()}```\nbye", TORCH),
        (f"```python\n{TORCH}`````\nbye", TORCH),
        ("1. this:\n\n" + textwrap.indent(f"```python\n{TORCH}```\n", "    "), TORCH),
        (f"```python\n{HOLDS_A_FENCE}```\nbye\n```\n$ python run.py\n```\n", HOLDS_A_FENCE),
        (f"```python\n{TORCH}<|im_end|>", TORCH),
        (f"```python\n{TORCH}```</s>", TORCH),
        (
            f"<|channel|>analysis<|message|>```python\n{TORCH.replace('1', '2')}```<|end|><|channel|>final<|message|>{TORCH}<|return|>",
            TORCH,
        ),
        (f"<reasoning>```python\n{TORCH.replace('1', '2')}```</reasoning>\n{TORCH}", TORCH),
        (f"<answer>\n{TORCH}</answer>\nIt adds one.", TORCH),
        (f"Here is the kernel:\n\n{TORCH}", TORCH),
        (f'<pre><code class="python">{TORCH}</code></pre>', TORCH),
        (f"```python\n\ufeff{TORCH.replace('    ', chr(0xA0) * 4)}```", TORCH),
        (f"```python\n{TORCH}```\nfor comparison:\n```python\nclass Model:\n    pass\n```\n", TORCH),
    ],
    ids=[
        "line ends of Windows",
        "after its thoughts",
        "among its thoughts",
        "within a line",
        "a longer fence",
        "indented",
        "fences within",
        "a token at its end",
        "a token behind the fence",
        "channels",
        "after its reasoning",
        "between tags",
        "behind a sentence",
        "as a web page",
        "blanks of web pages",
        "then another",
    ],
)
def test_a_python_kernel_is_found_as_models_write_them(text, found):
    assert find_kernel(text, "torch") == found


@given(st.text(max_size=3000))
def test_any_text_is_survived(text):
    for language in ("c", "cuda", "triton"):
        kernel = find_kernel(text, language)
        assert kernel is None or isinstance(kernel, str)


def test_a_problem_for_several_devices_is_refused_by_an_engine_of_one():
    problem = find_problem("popcorn/L1/29")
    several = problem.model_copy(update={"source": problem.source + "\nRANKS = 4\n"})
    assert devices_needed(problem) == 1 and devices_needed(several) == 4
    place_with().check(several)  # on a CPU its ranks are processes
    wide = place_with()
    wide.__dict__["_machine"] = wide._machine.model_copy(update={"kind": "cuda"})
    with pytest.raises(BadAgent, match="needs 4 devices at once and this engine gives a job 1"):
        wide.check(several)
    wide.devices = 4
    wide.check(several)
    assert all(devices_needed(one) >= 1 for one in list_problems())


SASS = """
		Function : _Z6kernelPf
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0020*/              @!P0 HMMA.16816.F32 R8, R4, R6, R8 ;
        /*0030*/                   STL [R1], R8 ;
        /*0040*/                   EXIT ;
"""


def test_sass_and_ptxas_are_read():
    (function,) = assembly.read_sass(SASS)
    assert function.name == "_Z6kernelPf" and function.instructions == 5
    assert function.mix == {"global memory": 1, "tensor core": 1, "local memory (spills)": 1, "branch": 1}
    report = assembly.read_ptxas_report(
        "ptxas info    : Compiling entry function '_Z6kernelPf' for 'sm_90'\n    0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\n"
    )
    assert report == {"_Z6kernelPf": {"spill_bytes": 12, "registers": 40, "shared_bytes": 1024}}


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_a_cuda_text_is_summed_up_without_a_gpu():
    source = "__global__ void twice(float* x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i] *= 2.0f; }\n"
    (function,) = assembly.read_cuda_source(source, "9.0")
    assert "twice" in function.name and function.registers > 0 and function.spill_bytes == 0 and function.mix["global memory"] == 2
    assert "registers a thread" in function.text()
    with pytest.raises(assembly.Unreadable, match="nvcc failed"):
        assembly.read_cuda_source("__global__ void broken( {", "9.0")


def test_the_engine_of_words_is_asked_for_a_build_and_never_for_a_judgement_by_compile_kernel(workbench):
    assert use(workbench, "compile_kernel", right(1)).ok
    broken = use(workbench, "compile_kernel", right(1) + "broken")
    assert not broken.ok and broken.outcome == "compile_error"
    assert isinstance(workbench.place.engine, WordEngine) and workbench.place.engine.requests == []


def test_seconds_of_somebody_else_s_evaluation_are_not_counted_twice(workbench):
    lanes = make_record("correct").provenance
    assert lanes.device_lane.run_s > 10, "the record that this engine answers with took longer than the call"
    answer = use(workbench, "run_correctness", right(2))
    assert answer.run_s == 0.0 and answer.queue_s <= lanes.build_lane.queue_s + lanes.device_lane.queue_s
