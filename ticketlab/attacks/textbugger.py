"""TextBugger: five kinds of character-level and word-level bugs in the most important words (Li et al., 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.core.settings import setting
from ticketlab.resources.settings import resource_setting
from ticketlab.resources.stop_words import english_stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class TextBugger(Attack):
    """Ranks words by how much deleting them lowers the victim's confidence, then inserts the worst of five bugs into one after another.

    The bugs are an inserted space, a deleted letter, two swapped letters, a homoglyph, and a near neighbour of the word.
    The paper's encoder (USE) is not distributed in packages: results on others are comparable only among themselves.
    """

    name: ClassVar[str] = "textbugger"
    summary: ClassVar[str] = "misspell important words, or replace them by near neighbours"
    paper: ClassVar[str] = "Li et al., 2019, TextBugger: Generating Adversarial Text Against Real-world Applications"
    languages: ClassVar[str] = (
        "English; other languages with their own word vectors and sentence encoder, but homoglyphs exist only for a to z, and stop words "
        "stay English"
    )
    required_resources: ClassVar[tuple[str, ...]] = ("word_vectors", "encoder")

    neighbours: int = setting(5, at_least=1, help="number of nearest neighbours tried for each word (K)", unit="words")
    min_similarity: float = setting(
        0.8, at_least=0, at_most=1, help="similarity threshold: minimum angular similarity of the changed text and the original (epsilon)"
    )
    word_vectors: str | None = resource_setting("word_vectors")
    encoder: str | None = resource_setting("encoder")

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Find the neighbours of all words; see :meth:`Attack.warm`."""
        from ticketlab.attacks.components.word_swaps import fetch_neighbours

        fetch_neighbours(resources.load_word_vectors(), texts, self.neighbours, excluded=english_stop_words())

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the attack as textattack's recipe does, with our resources."""
        import textattack
        from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
        from textattack.search_methods import GreedyWordSwapWIR
        from textattack.transformations import (
            CompositeTransformation,
            WordSwapEmbedding,
            WordSwapNeighboringCharacterSwap,
            WordSwapRandomCharacterDeletion,
            WordSwapRandomCharacterInsertion,
        )

        from ticketlab.attacks.components.constraints import as_embedding, similar_sentence
        from ticketlab.attacks.components.word_swaps import swap_homoglyphs

        inside = {"random_one": True, "skip_first_char": True, "skip_last_char": True}
        bugs = CompositeTransformation(
            [
                WordSwapRandomCharacterInsertion(letters_to_insert=" ", **inside),
                WordSwapRandomCharacterDeletion(**inside),
                WordSwapNeighboringCharacterSwap(**inside),
                swap_homoglyphs(),
                WordSwapEmbedding(max_candidates=self.neighbours, embedding=as_embedding(resources.load_word_vectors())),
            ]
        )
        constraints = [
            RepeatModification(),
            StopwordModification(stopwords=english_stop_words()),
            similar_sentence(resources.load_encoder(victim.device), threshold=self.min_similarity, metric="angular"),
        ]
        return textattack.Attack(self.goal(victim), constraints, bugs, GreedyWordSwapWIR(wir_method="delete"))
