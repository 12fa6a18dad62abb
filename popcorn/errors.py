"""The errors a user can meet. Each is one sentence that names the thing, what was expected, and the next step."""


class PopcornError(Exception):
    """A mistake that the user can mend. The CLI shows its text without a traceback and exits with `exit_code`."""

    exit_code = 2


class MissingFile(PopcornError):
    """A path that does not exist or cannot be read."""

    exit_code = 60


class UnknownProblem(PopcornError):
    """A problem id that no suite has; the text offers the nearest ids."""

    exit_code = 61


class UnknownDevice(PopcornError):
    """A device that this machine does not have."""

    exit_code = 62


class BadCandidate(PopcornError):
    """A candidate file that cannot be judged at all: wrong language, empty, not text."""

    exit_code = 63


class BadProblem(PopcornError):
    """A problem file that breaks the contract: no Model, no get_inputs, a size outside its own range."""

    exit_code = 64


class BadRecord(PopcornError):
    """A record id that the store does not hold, or a line that no migration understands."""

    exit_code = 65


class UnwritableStore(PopcornError):
    """A folder of records that cannot be written; the text says where the record is instead."""

    exit_code = 67
    record: object | None = None
    """The Record that could not be kept, for whoever waits for it."""


class MissingTool(PopcornError):
    """A compiler, library or driver that is needed and absent; the text gives the command that installs it."""

    exit_code = 66


class BadAgent(PopcornError):
    """A model, tier, budget or run of agents that cannot be used as asked; the text says what was expected."""

    exit_code = 68


class BadSearch(PopcornError):
    """A search, task or adoption that cannot be carried out as asked; the text says what was expected."""

    exit_code = 71


class BadSweep(PopcornError):
    """A sweep's file, folder or engine that cannot be used as asked; the text names the key or the folder."""

    exit_code = 69


class BadService(PopcornError):
    """The evaluation service cannot start, be reached, or refused; the text says which."""

    exit_code = 70


class HarnessFailure(Exception):
    """A fault of ours (a worker that died without the candidate's help). Becomes `harness_error`, is retried, never counts."""
