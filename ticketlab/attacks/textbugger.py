"""TextBugger: five kinds of bugs, of letters and of words, in the words that matter most (Li et al., 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.core.settings import setting
from ticketlab.resources import settings, stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class TextBugger(Attack):
    """Ranks words by what deleting them does to the victim, then puts the worst of five bugs into one after the other.

    The bugs are a space in the word, a letter less, two letters swapped, a letter that looks alike, and a near neighbour of the word.
    The paper's encoder (USE) is not distributed in packages: results on others are comparable among themselves.
    """

    name: ClassVar[str] = "textbugger"
    summary: ClassVar[str] = "misspell important words, or replace them by near neighbours"
    paper: ClassVar[str] = "Li et al., 2019, TextBugger: Generating Adversarial Text Against Real-world Applications"
    languages: ClassVar[str] = (
        "English; with other word vectors and another sentence encoder their language, but look-alikes are those of a "
        "to z, and stop words English"
    )
    needs: ClassVar[tuple[str, ...]] = ("word_vectors", "encoder")

    neighbours: int = setting(5, at_least=1, help="nearest words that are tried for a word (K)", unit="words")
    min_similarity: float = setting(
        0.8, at_least=0, at_most=1, help="least angular similarity of the changed text and the original (epsilon)"
    )
    word_vectors: str | None = settings.word_vectors()
    encoder: str | None = settings.encoder()

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Search the neighbours of all words; see :meth:`Attack.warm`."""
        from ticketlab.attacks.components.word_swaps import fetch_neighbours

        fetch_neighbours(resources.load_word_vectors(), texts, self.neighbours, but=stop_words.english())

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Compose the attack as textattack's recipe does, on our resources."""
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
        from ticketlab.attacks.components.word_swaps import homoglyphs

        inside = {"random_one": True, "skip_first_char": True, "skip_last_char": True}
        bugs = CompositeTransformation(
            [
                WordSwapRandomCharacterInsertion(letters_to_insert=" ", **inside),
                WordSwapRandomCharacterDeletion(**inside),
                WordSwapNeighboringCharacterSwap(**inside),
                homoglyphs(),
                WordSwapEmbedding(max_candidates=self.neighbours, embedding=as_embedding(resources.load_word_vectors())),
            ]
        )
        constraints = [
            RepeatModification(),
            StopwordModification(stopwords=stop_words.english()),
            similar_sentence(resources.load_encoder(victim.device), threshold=self.min_similarity, metric="angular"),
        ]
        return textattack.Attack(self.goal(victim), constraints, bugs, GreedyWordSwapWIR(wir_method="delete"))
