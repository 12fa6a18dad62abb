"""`popcorn judge RECORD WORD --evidence TEXT`: say that a record is suspected, cleared or condemned."""

import getpass
from typing import Annotated

import typer

from popcorn.records.ledger import Ledger, Word


def judge_record(
    record: Annotated[str, typer.Argument(help="Id of a record, or its beginning.")],
    word: Annotated[Word, typer.Argument(help="What is held of it from now on.")],
    evidence: Annotated[str, typer.Option(help="What was run and what was seen.")],
) -> None:
    """Say that a record is suspected, cleared or condemned.

    The judgement is added to the ledger; the record stays as it is.
    """
    from popcorn.records.store import default_store

    store = default_store()
    found = store.get(record)
    made = Ledger(store.folder).judge(found.id, word, evidence, _user())
    typer.echo(f"{found.id} ({found.subject.problem}, {found.verdict.outcome}) is {made.word} from now on.")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "a person"
