"""A proposer that says again what was said: texts from a list, or those of an earlier search's ledger."""

from collections.abc import Sequence
from pathlib import Path

from popcorn.errors import BadSearch
from popcorn.search.ledger import FILE, Ledger
from popcorn.search.program import Proposal
from popcorn.search.strategies import Context


class Replay:
    """Proposals in order; after the last there is none."""

    def __init__(self, proposals: Sequence[Proposal | str], name: str = "replay"):
        self.name = name
        self.proposals = [one if isinstance(one, Proposal) else Proposal(source=one, operator="replay", cost_usd=0.0) for one in proposals]

    @classmethod
    def of(cls, folder: Path) -> "Replay":
        """What an earlier search proposed. Raises BadSearch where there is none."""
        if not (folder / FILE).is_file():
            raise BadSearch(f"{folder} holds no search; expected a folder with {FILE}.")
        with Ledger(folder) as ledger:
            found = [(int(key[4:]), body) for key, body, _, _ in ledger.rows() if key.startswith("ask/")]
        made = [Proposal.model_validate(body) for _, body in sorted(found, key=lambda one: one[0])]
        return cls([one.model_copy(update={"parents": ()}) for one in made], f"replay of {folder.name}")

    def propose(self, context: Context) -> Proposal:
        """The next one, by the step alone, so that a search that was killed goes on at the right place."""
        place = context.step - context.seeds
        if not 0 <= place < len(self.proposals):
            return Proposal(source="", reason="the list of proposals has ended")
        parents = (context.parent.id,) if context.parent is not None else ()
        return self.proposals[place].model_copy(update={"parents": self.proposals[place].parents or parents})
