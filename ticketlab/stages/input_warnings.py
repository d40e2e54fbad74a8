"""What stages say of the texts that they tokenise: once in a run, and as a warning where the model misses much."""

from __future__ import annotations

from typing import Any

from ticketlab.stages.base import Context
from ticketlab.training.batch import TokenizedRows, tokenize


def warn_of_texts(context: Context, what: str, rows: TokenizedRows, *, keep: bool = True) -> dict[str, Any]:
    """Say what the model does not see of ``rows``, called ``what``; return the counts for the results.

    A warning is kept in the stage's result, unless the rows are another stage's.
    """
    coverage = rows.coverage
    if 0 < coverage.longest < context.max_length:
        context.say_of_input(f"the model takes at most {coverage.longest} tokens, so max_length = {context.max_length} is as good as that")
    words = coverage.summary()
    if words and coverage.is_poor:
        context.warn_of_input(f"{what}: {words}", keep=keep)
    elif words:
        context.say_of_input(f"{what}: {words}")
    return coverage.facts()


def warn_of_test_examples(context: Context, tokenizer: Any) -> None:
    """Say, before a training, what the model does not see of the examples that it will be judged on: once for each task of a run.

    They are tokenised once more for that, which takes 0.2 s for 1,000 of 15 words.
    """
    examples = context.data.splits.get("test", ())
    looked = f"{context.data.fingerprint}: looked at"
    if examples and looked not in context.told:
        context.told.add(looked)
        warn_of_texts(context, f"{context.data.name}, test", tokenize(examples, tokenizer, context.max_length), keep=False)
