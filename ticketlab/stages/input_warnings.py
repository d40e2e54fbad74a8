"""Messages about the texts that stages tokenise: printed once per run, as a warning if the model does not see much of a text."""

from __future__ import annotations

from typing import Any

from ticketlab.stages.base import Context
from ticketlab.training.batch import TokenizedRows, tokenize


def warn_of_texts(context: Context, what: str, rows: TokenizedRows, *, keep: bool = True) -> dict[str, Any]:
    """Print how much of ``rows``, named ``what``, the model does not see, and return the counts for the results.

    A warning is stored in the stage's result unless ``keep`` is False, for the rows of another stage.
    """
    coverage = rows.coverage
    if 0 < coverage.longest < context.max_length:
        context.say_of_input(f"the model takes at most {coverage.longest} tokens, so max_length = {context.max_length} has the same effect")
    description = coverage.summary()
    if description and coverage.is_poor:
        context.warn_of_input(f"{what}: {description}", keep=keep)
    elif description:
        context.say_of_input(f"{what}: {description}")
    return coverage.facts()


def warn_of_test_examples(context: Context, tokenizer: Any) -> None:
    """Print, before training, how much of the test examples the model will not see; once for each task of a run.

    The examples are tokenised only for this, which takes 0.2 s for 1,000 examples of 15 words.
    """
    examples = context.data.splits.get("test", ())
    checked = f"{context.data.fingerprint}: checked"
    if examples and checked not in context.printed:
        context.printed.add(checked)
        warn_of_texts(context, f"{context.data.name}, test", tokenize(examples, tokenizer, context.max_length), keep=False)
