"""BERT-Attack: words replaced by what a masked language model would read in their place (Li et al., 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.components.piece_combinations import ORDERS, Order
from ticketlab.core.settings import setting
from ticketlab.resources import settings, stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class BertAttack(Attack):
    """Ranks words by what masking them does to the victim, then replaces one after the other by a guess of a masked language model.

    The model sees the word that it guesses. A word of n pieces, each with K guesses, has K^n replacements; ``long_words`` says which K are
    tried. ``perplexity`` takes those of the lowest, as the paper means, without forming the others; ``first`` takes the first K in the
    order of the guesses, the last piece changing fastest, as textattack does after forming all. Where many combinations are no word,
    ``combinations`` ends the looking, and a line says for which word. textattack's recipe is ``candidates=8``, ``long_words="first"``.
    Special tokens of the model, which textattack may write into a text, are never candidates.
    """

    name: ClassVar[str] = "bert-attack"
    summary: ClassVar[str] = "replace important words by guesses of a masked language model that sees them"
    paper: ClassVar[str] = "Li et al., 2020, BERT-ATTACK: Adversarial Attack Against BERT Using BERT"
    languages: ClassVar[str] = "English; with another masked language model and sentence encoder their language, but stop words are English"
    needs: ClassVar[tuple[str, ...]] = ("mlm", "encoder")

    candidates: int = setting(
        48, at_least=1, at_most=1000, unit="words", help="guesses that are tried for a word (K): 48 as the paper, 8 as textattack"
    )
    long_words: Order = setting(
        "perplexity", choices=ORDERS, help="of a word of several pieces: the K likeliest combinations of their guesses, or the K first"
    )
    combinations: int = setting(
        10_000, at_least=1, at_most=10_000_000, unit="combinations", help="look at no more of a long word's combinations than this"
    )
    max_words_perturbed: float = setting(0.4, above=0, at_most=1, unit="fraction", help="part of the words that may be replaced")
    min_similarity: float = setting(
        0.2, at_least=-1, at_most=1, help="least cosine similarity of the original text and the changed one, by the sentence encoder"
    )
    mlm: str | None = settings.mlm()
    encoder: str | None = settings.encoder()

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Compose the attack as textattack's recipe does, on our resources."""
        import textattack
        from textattack.constraints.overlap import MaxWordsPerturbed
        from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
        from textattack.search_methods import GreedyWordSwapWIR

        from ticketlab.attacks.components.constraints import similar_sentence
        from ticketlab.attacks.components.masked_swaps import swap_by_pieces

        swap = swap_by_pieces(
            resources.load_mlm(victim.device), candidates=self.candidates, order=self.long_words, combinations=self.combinations
        )
        constraints = [
            RepeatModification(),
            StopwordModification(stopwords=stop_words.english()),
            MaxWordsPerturbed(max_percent=self.max_words_perturbed),
            similar_sentence(resources.load_encoder(victim.device), threshold=self.min_similarity, metric="cosine"),
        ]
        return textattack.Attack(self.goal(victim), constraints, swap, GreedyWordSwapWIR(wir_method="unk"))
