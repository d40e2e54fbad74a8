"""TextFooler: replaces important words by near neighbours that keep the meaning (Jin et al., 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.core.settings import setting
from ticketlab.resources import stop_words
from ticketlab.resources.settings import resource_setting

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class TextFooler(Attack):
    """Ranks words by how much deleting them lowers the victim's confidence, then replaces one after another by a near neighbour.

    Of texts in columns called `premise` and `hypothesis` only the hypothesis is changed. The paper's word vectors (counter-fitted) and
    encoder (USE) are not distributed in packages: results on others are comparable only among themselves.
    """

    name: ClassVar[str] = "textfooler"
    summary: ClassVar[str] = "replace important words by near neighbours of the same meaning"
    paper: ClassVar[str] = "Jin et al., 2020, Is BERT Really Robust? A Strong Baseline for Natural Language Attack"
    languages: ClassVar[str] = (
        "English; other languages with their own word vectors and sentence encoder and no tagger, but stop words stay English"
    )
    required_resources: ClassVar[tuple[str, ...]] = ("word_vectors", "encoder", "tagger")

    neighbours: int = setting(50, at_least=1, help="number of nearest neighbours tried for each word (N)", unit="words")
    min_cosine: float = setting(
        0.5, above=0, at_most=1, help="minimum cosine similarity of the vectors of a word and its replacement (delta)"
    )
    min_similarity: float = setting(
        0.840845057,
        at_least=0,
        at_most=1,
        help="similarity threshold: minimum angular similarity of the text before and after a change (epsilon)",
    )
    window: int | None = setting(
        15, at_least=1, help="compare only this many words around the change; shorter texts are accepted", unit="words"
    )
    word_vectors: str | None = resource_setting("word_vectors")
    encoder: str | None = resource_setting("encoder")
    tagger: str = resource_setting("tagger")

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Find the neighbours of all words; see :meth:`Attack.warm`."""
        from ticketlab.attacks.components.word_swaps import fetch_neighbours

        fetch_neighbours(resources.load_word_vectors(), texts, self.neighbours, excluded=stop_words.textfooler())

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the attack as textattack's recipe does, with our resources."""
        import textattack
        from textattack.constraints.pre_transformation import InputColumnModification, RepeatModification, StopwordModification
        from textattack.constraints.semantics import WordEmbeddingDistance
        from textattack.search_methods import GreedyWordSwapWIR
        from textattack.transformations import WordSwapEmbedding

        from ticketlab.attacks.components.constraints import as_embedding, same_part_of_speech, similar_sentence

        vectors = as_embedding(resources.load_word_vectors())
        constraints = [
            RepeatModification(),
            StopwordModification(stopwords=stop_words.textfooler()),
            InputColumnModification(["premise", "hypothesis"], {"premise"}),
            WordEmbeddingDistance(embedding=vectors, min_cos_sim=self.min_cosine),
        ]
        if resources.tagger != "none":
            constraints.append(same_part_of_speech(resources.load_tagger(), allow_verb_noun_swap=True))
        similarity = similar_sentence(
            resources.load_encoder(victim.device),
            threshold=self.min_similarity,
            metric="angular",
            window=self.window,
            skip_short=self.window is not None,
            compare_against_original=False,
        )
        swap = WordSwapEmbedding(max_candidates=self.neighbours, embedding=vectors)
        return textattack.Attack(self.goal(victim), [*constraints, similarity], swap, GreedyWordSwapWIR(wir_method="delete"))
