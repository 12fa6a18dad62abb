"""replay/<transcript>: says again what a recorded run's model said; its kernels are judged anew. Needs Inspect."""

from pathlib import Path

from inspect_ai.model import ChatMessage, ChatMessageAssistant, GenerateConfig, ModelAPI, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from popcorn.agents.providers.speaking import fenced, speak
from popcorn.schema.run import Run


class Replay(ModelAPI):
    """A run's turns in order: its text, its reasoning, its calls. After the last one it submits the final kernel."""

    def __init__(
        self, model_name: str, base_url: str | None = None, api_key: str | None = None, config: GenerateConfig | None = None
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        path = Path(model_name.removeprefix("replay/"))
        path = path / "run.json" if path.is_dir() else path
        if not path.is_file():
            raise ValueError(f"there is no transcript {path}; expected the run.json of a run, or its folder")
        self.run = Run.model_validate_json(path.read_text(encoding="utf-8"))

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """The next turn."""
        index = sum(isinstance(message, ChatMessageAssistant) for message in input)
        if index < len(self.run.turns):
            turn = self.run.turns[index]
            calls = [(call.tool, call.arguments) for call in turn.calls if call.data.get("taken_from") != "text"]
            return speak(self.model_name, input, turn.text or "", calls, turn.reasoning or "")
        kernel = self.run.candidate or ""
        if tools and kernel:
            return speak(self.model_name, input, "", [("submit_kernel", {"kernel_code": kernel})])
        return speak(self.model_name, input, fenced(kernel, self.run.language), [])
