"""textattack's goal of an untargeted attack, with the same results for fewer steps: it reads what the victim says of many texts at once.

Its goals take a batch of rows that all happen to sum to 1 for probabilities. A victim gives logits, and they are read as such here.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def probabilities(logits: Tensor) -> Tensor:
    """Return the softmax of each row, whatever it sums to; a label may be ruled out by minus infinity.

    :raises ValueError: of a row there is none: it holds NaN or infinity, or nothing but minus infinity.
    """
    found = torch.softmax(logits, dim=1)
    broken = (~torch.isfinite(found).all(dim=1)).nonzero()
    if len(broken):
        raise ValueError(f"the model's logits of a text are {logits[int(broken[0])].tolist()}: there is no likeliest label")
    return found


def read_as_logits(attack: Any) -> None:
    """Let the goal of a ``textattack.Attack`` take what the victim says for logits, if it is one of classification."""
    from textattack.goal_functions.classification.classification_goal_function import ClassificationGoalFunction

    goal = getattr(attack, "goal_function", None)
    if isinstance(goal, ClassificationGoalFunction):
        goal._process_model_outputs = lambda _, logits: probabilities(logits)


def another_label(victim: Any, query_budget: float = float("inf")) -> Any:
    """Return the goal that ``victim`` gives another label than the right one; after so many queries the search is over."""
    return _another_label()(victim, query_budget=query_budget)


@functools.cache
def _another_label() -> Any:
    from textattack.goal_function_results import ClassificationGoalFunctionResult
    from textattack.goal_function_results.goal_function_result import GoalFunctionResultStatus
    from textattack.goal_functions import UntargetedClassification

    class AnotherLabel(UntargetedClassification):  # type: ignore[misc]
        def __init__(self, victim: Any, query_budget: float) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of how it says that it does not know this class
                super().__init__(victim, query_budget=query_budget, use_cache=False)
            self._known: dict[Any, tuple[Any, int, list[float]]] = {}

        def clear_cache(self) -> None:
            super().clear_cache()
            self._known.clear()

        def get_results(self, attacked_text_list: Sequence[Any], check_skip: bool = False) -> tuple[list[Any], bool]:
            if self.query_budget < float("inf"):
                attacked_text_list = attacked_text_list[: self.query_budget - self.num_queries]
            self.num_queries += len(attacked_text_list)
            asked = [text.tokenizer_input for text in attacked_text_list]
            self._ask([key for key in dict.fromkeys(asked) if key not in self._known])
            right = self.ground_truth_output
            results = []
            for text, key in zip(attacked_text_list, asked, strict=True):
                likelihoods, label, complements = self._known[key]
                missed = GoalFunctionResultStatus.SKIPPED if check_skip else GoalFunctionResultStatus.SUCCEEDED
                status = GoalFunctionResultStatus.SEARCHING if label == right else missed
                score = complements[right]
                results.append(ClassificationGoalFunctionResult(text, likelihoods, label, status, score, self.num_queries, right))
            return results, self.num_queries == self.query_budget

        def _ask(self, texts: list[Any]) -> None:
            if texts:
                found = probabilities(self.model(texts))
                labels, complements = found.argmax(dim=1).tolist(), (1 - found).tolist()
                self._known.update(zip(texts, zip(found.numpy(), labels, complements, strict=True), strict=True))

    return AnotherLabel
