"""Try a problem that nobody has run here: shapes first, on tensors that hold nothing, then values. Needs torch; in a fenced child."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from popcorn.suites.modules import reason_of
from popcorn.worker.examining import RANDOM, STATE
from popcorn.worker.failure import Failed
from popcorn.worker.mailbox import tensors_of
from popcorn.worker.making import held_by
from popcorn.worker.subject import refuse_lazy
from popcorn.worker.trees import another_answer, private_copy, refuse_odd, same_values, unjudgeable
from popcorn.worker.truth import Question

if TYPE_CHECKING:
    from popcorn.worker.oracle import Oracle

SEEDS = 3


def try_problem(oracle: "Oracle", values: bool) -> dict[str, Any]:
    """Bytes of inputs and weights at the nominal sizes, the kinds of its inputs, and remarks. Raises Failed with the reason.

    values: run it on real inputs at the nominal and at drawn sizes; without, on fake tensors alone where it bears them.
    """
    loaded = oracle.loaded
    nominal = loaded.draw_dims(0, False)
    if values:
        remarks = []
        for dims in [nominal, *(loaded.draw_dims(seed, True) for seed in range(SEEDS if loaded.dims else 0))]:
            inputs, outputs, written = _run(oracle, dims)
            unfit = unjudgeable([("out", one) for one in outputs])
            if unfit:
                remarks.append(f"for normal inputs {unfit}")
            if written:
                remarks.append("its forward changes its inputs, which a candidate must not: it returns tensors of its own")
        oracle.precision = oracle.own_precision(nominal)
        remarks += _of_repeating(oracle, nominal)
        kinds = sorted({str(t.dtype).removeprefix("torch.") for t in tensors_of(inputs) if t.is_floating_point() and t.element_size() > 1})
        if kinds not in ([], ["float32"]):
            remarks.append(
                f"its floating inputs are {' and '.join(kinds)}; `--precision` decides, so choose {kinds[0]} to judge at that type"
            )
        return {"remarks": sorted(set(remarks)), "integers": sum(not t.is_floating_point() for t in tensors_of(inputs))}
    from torch._subclasses.fake_tensor import FakeTensorMode

    try:
        with FakeTensorMode():
            model = loaded.model(nominal)
            inputs = loaded.make_inputs(nominal)
            needed = _bytes([inputs, list(model.parameters()), list(model.buffers())])
            outputs = tensors_of(_called(model, list(inputs)))
            return {"needed_bytes": needed + _bytes(outputs), "shapes": True}
    except Exception as error:  # what fake tensors cannot do is found out with real ones
        return {"needed_bytes": None, "shapes": False, "why": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}


def _run(oracle: "Oracle", dims: dict[str, int]) -> tuple[list[Any], list[torch.Tensor], bool]:
    """(inputs, outputs, whether the call changed an input)."""
    torch.manual_seed(0)
    model = _reasoned("Model", lambda: oracle.loaded.model(dims).to(oracle.device))
    refuse_lazy(model)
    with oracle.device:
        inputs = oracle.loaded.inputs(dims)
    refuse_odd(inputs)
    before, state, held = private_copy(inputs), oracle._generator_state(), held_by(model)
    returned = _reasoned("forward", lambda: _called(model, inputs))
    outputs = tensors_of(returned)
    drew = not torch.equal(state, oracle._generator_state())
    if (drew or held_by(model) != held) and another_answer(
        outputs, _reasoned("forward", lambda: tensors_of(_called(model, private_copy(before))))
    ):
        raise Failed("invalid_reference", RANDOM if drew else STATE)
    if not outputs:
        raise Failed(
            "invalid_reference",
            f"its forward returns {type(returned).__name__}, which holds no tensor; expected one or several",
        )
    written = any(not same_values(a, b) for a, b in zip(tensors_of(inputs), tensors_of(before), strict=True))
    return inputs, outputs, written


def _of_repeating(oracle: "Oracle", dims: dict[str, int]) -> list[str]:
    """A remark where every trial would have the same inputs. Raises Failed where the same one would have another answer."""
    question = Question(dims, 0, 1, 2, "normal", "contiguous")
    oracle.refuse_unrepeatable(oracle._try(question, False))
    made = [tensors_of(oracle._inputs(replace(question, seed=seed))) for seed in (0, 3)]
    if made[0] and all(same_values(a, b) for a, b in zip(*made, strict=False)):
        return ["its inputs are the same under every seed: where its answer is, too, it can judge nobody; let get_inputs draw them"]
    return []


def _called(model: Any, inputs: list[Any]) -> Any:
    with torch.no_grad():
        return model(*inputs)


def _bytes(tree: Any) -> int:
    return sum(t.numel() * t.element_size() for t in tensors_of(tree))


def _reasoned(step: str, act: Callable[[], Any]) -> Any:
    try:
        return act()
    except (Failed, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:300]
        if "can't allocate memory" in text or "not enough memory" in text:
            raise Failed("out_of_memory", text) from error
        raise Failed("invalid_reference", f"{step} fails: {reason_of(error)}") from error
