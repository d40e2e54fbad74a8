"""DeepWordBug: typing errors in the most important words (Gao et al., 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.components.edit_distance import few_edits
from ticketlab.core.settings import setting
from ticketlab.resources.stop_words import english_stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class DeepWordBug(Attack):
    """Ranks words by how much masking them lowers the victim's confidence, then changes a character in one word after another."""

    name: ClassVar[str] = "deepwordbug"
    summary: ClassVar[str] = "swap, delete, insert and replace characters of important words"
    paper: ClassVar[str] = "Gao et al., 2018, Black-box Generation of Adversarial Text Sequences to Evade Deep Learning Classifiers"
    languages: ClassVar[str] = (
        "any language with spaces between words; the inserted letters are a to z, and the stop words that are not attacked are English"
    )

    max_edit_distance: int = setting(
        30, at_least=1, help="maximum Levenshtein distance from the original text (epsilon)", unit="characters"
    )

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the attack as textattack's recipe does, with our fixed list of stop words."""
        import textattack
        from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
        from textattack.search_methods import GreedyWordSwapWIR
        from textattack.transformations import (
            CompositeTransformation,
            WordSwapNeighboringCharacterSwap,
            WordSwapRandomCharacterDeletion,
            WordSwapRandomCharacterInsertion,
            WordSwapRandomCharacterSubstitution,
        )

        swaps = CompositeTransformation(
            [
                WordSwapNeighboringCharacterSwap(),
                WordSwapRandomCharacterSubstitution(),
                WordSwapRandomCharacterDeletion(),
                WordSwapRandomCharacterInsertion(),
            ]
        )
        constraints = [
            RepeatModification(),
            StopwordModification(stopwords=english_stop_words()),
            few_edits(self.max_edit_distance),
        ]
        return textattack.Attack(self.goal(victim), constraints, swaps, GreedyWordSwapWIR(wir_method="unk"))
