"""Small folders in the formats of other benchmarks, written by us; and a command to write one."""

import json
from pathlib import Path

HEAD = "import torch\nimport torch.nn as nn\n\n"
SOFTMAX = HEAD + (
    "class Model(nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, dim=1)\n\n"
    "batch_size = 16\ndim = 300\n\ndef get_inputs():\n    return [torch.rand(batch_size, dim)]\n\ndef get_init_inputs():\n    return []\n"
)
SCAN = HEAD + (
    "class Model(nn.Module):\n    def forward(self, a, b):\n        return torch.cumsum(a * b, dim=1)\n\nB = 32\nT = 40\n\n"
    "def get_inputs():\n    p = popcorn_pri\n    return [torch.rand(p.jitter_int(B), p.jitter_int(T)), torch.randn(p.jitter_int(B), p.jitter_int(T))]\n"
)
LAYER_NORM = HEAD + (
    "def forward_fn(x, weight, bias):\n    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias)\n\n"
    "class Model(nn.Module):\n    def __init__(self, num_features, init_method='random'):\n        super().__init__()\n"
    "        self.weight = nn.Parameter(torch.randn(num_features) if init_method == 'random' else torch.ones(num_features))\n"
    "        self.bias = nn.Parameter(torch.randn(num_features))\n\n"
    "    def forward(self, x, fn=forward_fn):\n        return fn(x, self.weight, self.bias)\n\n"
    "def get_inputs(batch_size, num_features, length=5):\n    return [torch.randn(batch_size, length, num_features)]\n\ninput_names = ['x']\n"
)
LAYER_NORM_CONFIG = {
    "single_input_configs": [{"batch_size": 16}], "multi_input_configs": [{"batch_size": 1}, {"batch_size": 8}],
    "single_init_configs": [{"init_method": "random"}], "multi_init_configs": [{"init_method": "random"}, {"init_method": "standard"}],
    "single_shared_configs": [{"num_features": 64}], "multi_shared_configs": [{"num_features": 2}, {"num_features": 64}],
}  # fmt: skip
RELU_BACKWARD = HEAD + (
    "class AutogradFunction(torch.autograd.Function):\n    backward_fn = staticmethod(lambda g, x: g * (x > 0))\n\n"
    "    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return torch.relu(x)\n\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return AutogradFunction.backward_fn(g, ctx.saved_tensors[0])\n\n"
    "class Model(nn.Module):\n    def forward(self, x, fn=AutogradFunction.apply):\n        return fn(x)\n\n"
    "def get_inputs(batch_size=4):\n    return [torch.randn(batch_size, 100)]\n"
)
DEFINITION = {
    "name": "scaled_softmax_h96", "op_type": "softmax",
    "axes": {"rows": {"type": "var"}, "columns": {"type": "const", "value": 96}, "half": {"type": "expr", "expression": "columns // 2"}},
    "inputs": {"x": {"shape": ["rows", "columns"], "dtype": "bfloat16"}, "index": {"shape": ["half"], "dtype": "int64"}, "scale": {"shape": None, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["rows", "half"], "dtype": "bfloat16"}},
    "reference": "import torch\n\n@torch.no_grad()\ndef run(x, index, scale):\n    return torch.softmax(x * scale, dim=-1)[:, index]\n",
}  # fmt: skip
TASK = (
    "import torch\n# [USER_INSTRUCTIONS_START]\n# Tile it.\n# [USER_INSTRUCTIONS_END]\n# [REFERENCE_START]\ndef reference(a, b):\n"
    "    return torch.matmul(a, b)\n# [REFERENCE_END]\n\ndef get_inputs():\n    return [torch.randn(64, 32), torch.randn(32, 48)]\n"
)
CASES = (
    '[inputs]\nx = ["B", "D"]\nindex = { shape = ["K"], dtype = "int64" }\nscale = "scalar"\n\n'
    "[[cases]]\nB = 64\nD = 100\nK = 7\nscale = 0.5\n\n[[cases]]\nB = 16\nD = 30\nK = 9\nscale = 2.0\n"
)
CASES_REFERENCE = "import torch\n\ndef reference(x, index, scale):\n    return torch.softmax(x * scale, -1)[index]\n"


def workloads(*rows: int) -> str:
    """Lines of a workload file for DEFINITION."""
    inputs = {"x": {"type": "random"}, "index": {"type": "random"}, "scale": {"type": "scalar", "value": 0.5}}
    return "".join(json.dumps({"uuid": str(n), "axes": {"rows": n}, "inputs": inputs}) + "\n" for n in rows)


def write(root: Path, files: dict[str, str]) -> Path:
    """A folder of these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root
