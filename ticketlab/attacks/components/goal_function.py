"""textattack's goal function of an untargeted attack, with the same results but faster: predictions are processed in batches.

textattack's goal functions take a batch whose rows all happen to sum to 1 for probabilities. Here the victim's outputs are always logits.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def probabilities(logits: Tensor) -> Tensor:
    """Return the softmax of each row, whatever its sum; a logit of minus infinity rules out a label.

    :raises ValueError: a row has no softmax: it holds NaN, infinity, or only minus infinity.
    """
    softmax = torch.softmax(logits, dim=1)
    broken = (~torch.isfinite(softmax).all(dim=1)).nonzero()
    if len(broken):
        raise ValueError(f"the model's logits of a text are {logits[int(broken[0])].tolist()}: there is no likeliest label")
    return softmax


def read_as_logits(attack: Any) -> None:
    """Make the goal function of a ``textattack.Attack`` treat the victim's outputs as logits, if it is a classification goal."""
    from textattack.goal_functions.classification.classification_goal_function import ClassificationGoalFunction

    goal = getattr(attack, "goal_function", None)
    if isinstance(goal, ClassificationGoalFunction):
        goal._process_model_outputs = lambda _, logits: probabilities(logits)


def another_label(victim: Any, query_budget: float = float("inf")) -> Any:
    """Return the goal that ``victim`` predicts any label but the correct one; the search ends when the query budget is spent."""
    return _another_label()(victim, query_budget=query_budget)


@functools.cache
def _another_label() -> Any:
    from textattack.goal_function_results import ClassificationGoalFunctionResult
    from textattack.goal_function_results.goal_function_result import GoalFunctionResultStatus
    from textattack.goal_functions import UntargetedClassification

    class AnotherLabel(UntargetedClassification):  # type: ignore[misc]
        def __init__(self, victim: Any, query_budget: float) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # raised by its lookup of unknown model classes
                super().__init__(victim, query_budget=query_budget, use_cache=False)
            self._known: dict[Any, tuple[Any, int, list[float]]] = {}

        def clear_cache(self) -> None:
            super().clear_cache()
            self._known.clear()

        def get_results(self, attacked_text_list: Sequence[Any], check_skip: bool = False) -> tuple[list[Any], bool]:
            if self.query_budget < float("inf"):
                attacked_text_list = attacked_text_list[: self.query_budget - self.num_queries]
            self.num_queries += len(attacked_text_list)
            inputs = [text.tokenizer_input for text in attacked_text_list]
            self._query([key for key in dict.fromkeys(inputs) if key not in self._known])
            right = self.ground_truth_output
            results = []
            for text, key in zip(attacked_text_list, inputs, strict=True):
                likelihoods, label, complements = self._known[key]
                missed = GoalFunctionResultStatus.SKIPPED if check_skip else GoalFunctionResultStatus.SUCCEEDED
                status = GoalFunctionResultStatus.SEARCHING if label == right else missed
                score = complements[right]
                results.append(ClassificationGoalFunctionResult(text, likelihoods, label, status, score, self.num_queries, right))
            return results, self.num_queries == self.query_budget

        def _query(self, texts: list[Any]) -> None:
            if texts:
                found = probabilities(self.model(texts))
                labels, complements = found.argmax(dim=1).tolist(), (1 - found).tolist()
                self._known.update(zip(texts, zip(found.numpy(), labels, complements, strict=True), strict=True))

    return AnotherLabel
