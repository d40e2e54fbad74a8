"""TextFooler: important words replaced by near neighbours that keep the meaning (Jin et al., 2020)."""

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
class TextFooler(Attack):
    """Ranks words by what deleting them does to the victim, then replaces one after the other by a synonym-like word.

    Of premise and hypothesis only the hypothesis is changed. The paper's word vectors (counter-fitted) and encoder (USE) are not
    distributed in packages: results on others are comparable among themselves.
    """

    name: ClassVar[str] = "textfooler"
    summary: ClassVar[str] = "replace important words by near neighbours of the same meaning"
    paper: ClassVar[str] = "Jin et al., 2020, Is BERT Really Robust? A Strong Baseline for Natural Language Attack"
    languages: ClassVar[str] = (
        "English; with other word vectors, another sentence encoder and `tagger` none their language, but stop words are English"
    )
    needs: ClassVar[tuple[str, ...]] = ("word_vectors", "encoder", "tagger")

    neighbours: int = setting(50, at_least=1, help="nearest words that are tried for a word (N)", unit="words")
    min_cosine: float = setting(0.5, above=0, at_most=1, help="least cosine of a word's vector and its replacement's (delta)")
    min_similarity: float = setting(
        0.840845057, at_least=0, at_most=1, help="least angular similarity of the text before and after a change (epsilon)"
    )
    window: int | None = setting(
        15, at_least=1, help="the similarity looks at this many words around the change; shorter texts pass", unit="words"
    )
    word_vectors: str | None = settings.word_vectors()
    encoder: str | None = settings.encoder()
    tagger: str = settings.tagger()

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Search the neighbours of all words; see :meth:`Attack.warm`."""
        from ticketlab.attacks.components.word_swaps import fetch_neighbours

        fetch_neighbours(resources.load_word_vectors(), texts, self.neighbours, but=stop_words.textfooler())

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Compose the attack as textattack's recipe does, on our resources."""
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
