"""textattack's limit on the edit distance, computed only up to the limit. Its class is imported when a constraint is first made."""

from __future__ import annotations

import functools
from typing import Any


def few_edits(most: int) -> Any:
    """Return the constraint that the Levenshtein distance from the original text is at most ``most`` characters.

    textattack's own takes quadratic time in the length of the text: seconds for each candidate of 5,000 words.
    """
    return _few_edits()(most)


@functools.cache
def _few_edits() -> Any:
    from Levenshtein import distance  # textattack depends on it
    from textattack.constraints.overlap import LevenshteinEditDistance

    class FewEdits(LevenshteinEditDistance):  # type: ignore[misc]
        def _check_constraint(self, transformed_text: Any, reference_text: Any) -> bool:
            most = self.max_edit_distance
            return bool(distance(reference_text.text, transformed_text.text, score_cutoff=most) <= most)

    return FewEdits
