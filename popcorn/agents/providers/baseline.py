"""baseline/eager and baseline/compile: the reference itself, and the reference under torch.compile, submitted like any kernel. Needs Inspect."""

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from popcorn.agents.providers.speaking import fenced, listen, speak

WRAPPERS = {
    "eager": "\n\nclass ModelNew(Model):\n    pass\n",
    "compile": """

class ModelNew(Model):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.compiled = torch.compile(super().forward)

    def forward(self, *inputs):
        return self.compiled(*inputs)
""",
}


class Baseline(ModelAPI):
    """Answers at once: submits, or gives the text where there are no tools. Its kernels are torch modules."""

    def __init__(
        self, model_name: str, base_url: str | None = None, api_key: str | None = None, config: GenerateConfig | None = None
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        kind = model_name.rpartition("/")[2]
        if kind not in WRAPPERS:
            raise ValueError(f"there is no baseline {kind!r}; expected one of {', '.join(WRAPPERS)}")
        self.kind = kind

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """The reference of the prompt with a ModelNew."""
        source = listen(input).reference.rstrip() + "\n" + WRAPPERS[self.kind]
        if any(tool.name == "submit_kernel" for tool in tools):
            return speak(self.model_name, input, "", [("submit_kernel", {"kernel_code": source})], f"The baseline {self.kind}.")
        return speak(self.model_name, input, fenced(source, "python"), [], f"The baseline {self.kind}.")
