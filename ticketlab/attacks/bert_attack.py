"""BERT-Attack: replaces words by a masked language model's predictions at their positions (Li et al., 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.components.piece_combinations import ORDERS, Order
from ticketlab.core.settings import setting
from ticketlab.resources.settings import resource_setting
from ticketlab.resources.stop_words import english_stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class BertAttack(Attack):
    """Ranks words by how much masking them lowers the victim's confidence, then replaces one after another by predictions.

    The masked language model sees the word that it predicts. A word of n pieces, each with K predictions, has K^n replacements, of which
    ``long_words`` selects K. ``perplexity`` takes those with the lowest perplexity, as the paper describes, without forming the others;
    ``first`` takes the first K in the order of the predictions, the last piece changing fastest, as textattack does after forming all.
    If many combinations are not words, the search ends after ``combinations``, and a message names the word. textattack's recipe is
    ``candidates=8``, ``long_words="first"``. The model's special tokens, which textattack may write into a text, are never candidates.
    """

    name: ClassVar[str] = "bert-attack"
    summary: ClassVar[str] = "replace important words by predictions of a masked language model that sees them"
    paper: ClassVar[str] = "Li et al., 2020, BERT-ATTACK: Adversarial Attack Against BERT Using BERT"
    languages: ClassVar[str] = (
        "English; other languages with their own masked language model and sentence encoder, but stop words stay English"
    )
    required_resources: ClassVar[tuple[str, ...]] = ("mlm", "encoder")

    candidates: int = setting(
        48, at_least=1, at_most=1000, unit="words", help="number of predictions tried for each word (K): 48 in the paper, 8 in textattack"
    )
    long_words: Order = setting(
        "perplexity", choices=ORDERS, help="for words of several pieces: the K likeliest combinations of their predictions, or the first K"
    )
    combinations: int = setting(
        10_000,
        at_least=1,
        at_most=10_000_000,
        unit="combinations",
        help="maximum number of combinations examined for a word of several pieces",
    )
    max_words_perturbed: float = setting(
        0.4, above=0, at_most=1, unit="fraction", help="maximum fraction of the words that may be replaced"
    )
    min_similarity: float = setting(
        0.2, at_least=-1, at_most=1, help="similarity threshold: minimum cosine similarity of the original and the changed text"
    )
    mlm: str | None = resource_setting("mlm")
    encoder: str | None = resource_setting("encoder")

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the attack as textattack's recipe does, with our resources."""
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
            StopwordModification(stopwords=english_stop_words()),
            MaxWordsPerturbed(max_percent=self.max_words_perturbed),
            similar_sentence(resources.load_encoder(victim.device), threshold=self.min_similarity, metric="cosine"),
        ]
        return textattack.Attack(self.goal(victim), constraints, swap, GreedyWordSwapWIR(wir_method="unk"))
