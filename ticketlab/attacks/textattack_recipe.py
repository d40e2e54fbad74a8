"""Recipes of textattack by name, with local resources (Morris et al., 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks import known_textattack_recipes, own_textattack_recipe
from ticketlab.attacks.base import Attack
from ticketlab.attacks.components.edit_distance import few_edits
from ticketlab.attacks.own_textattack_recipe import OwnRecipe, own_recipe
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.core.settings import setting
from ticketlab.resources.settings import resource_setting

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


def _class_name(name: Any) -> Any:
    if not isinstance(name, str):
        return name
    return own_textattack_recipe.check_name(name) if ":" in name else known_textattack_recipes.find(name).name


@frozen
class TextAttackRecipe(Attack):
    """Runs a recipe class of textattack, with the resources named here in place of those that it would download.

    ``textattack:pruthi`` is the attack with ``recipe = "Pruthi2019"``. Supported: BAEGarg2019, BERTAttackLi2020, CLARE2020,
    DeepWordBugGao2018, IGAWang2019, InputReductionFeng2018, LEAP2023, PWWSRen2019, Pruthi2019, TextBuggerLi2018 and TextFoolerJin2019. The
    others need something that has no substitute, and are refused with a message that names it. The thresholds are the recipe's own, and
    were chosen for its original resources. InputReductionFeng2018 shortens a text as long as the label stays the same: every attack
    succeeds, so its success rate is meaningless.

    ``textattack:MODULE:CLASS`` is a recipe of one's own in a module of a plugin: a subclass of textattack's ``AttackRecipe``, or a function
    that takes the model and returns a ``textattack.Attack``.
    """

    name: ClassVar[str] = "textattack"
    summary: ClassVar[str] = "a recipe of textattack by name, with local resources"
    paper: ClassVar[str] = (
        "Morris et al., 2020, TextAttack: A Framework for Adversarial Attacks, Data Augmentation, and Adversarial Training in NLP"
    )
    languages: ClassVar[str] = "English, like the recipes' stop words and most resources; recipes that edit characters insert a to z"
    variant: ClassVar[str] = "recipe"
    required_resources: ClassVar[tuple[str, ...]] = ("word_vectors", "encoder", "mlm", "tagger", "wordnet")

    recipe: str | None = setting(
        None,
        converter=_class_name,
        help="a recipe class of textattack, such as Pruthi2019, or its name on textattack's command line, such as pruthi; or MODULE:CLASS, "
        "a class in a module of a plugin",
    )
    word_vectors: str | None = resource_setting("word_vectors")
    encoder: str | None = resource_setting("encoder")
    mlm: str | None = resource_setting("mlm")
    tagger: str = resource_setting("tagger")
    wordnet: str | None = resource_setting("wordnet")

    def resource_names(self) -> tuple[str, ...]:
        """Return the names of the resources that the recipe needs; all if no recipe is set."""
        own = self._own()
        if own is not None:
            return own.resource_names
        return self._known().required_resources if self.recipe is not None else self.required_resources

    @property
    def plugin_modules(self) -> tuple[str, ...]:
        """The module of a recipe of one's own."""
        return () if self.recipe is None or ":" not in self.recipe else (self.recipe.partition(":")[0],)

    def about(self) -> dict[str, str]:
        """Return the recipe's paper and its thresholds, or why it is refused."""
        if self.recipe is None:
            return Attack.about(self)
        own = self._own()
        if own is not None:
            return {"recipe": f"`{own.attribute}` of {own.module.file}"}
        known = self._known()
        if known.unavailable:
            return {"refused": self._refusal(known)}
        return {"paper": known.paper, "languages": self.languages, "thresholds": known.thresholds}

    def _checked(self, engine: Sequence[str]) -> Resources:
        """Check the resources that the recipe needs.

        :raises UsageError: no recipe is named, or one that no loaded plugin has.
        :raises ResourceError: it needs something that is missing or has no substitute.
        """
        own = self._own()
        if own is not None:
            own.check()
            return Attack._checked(self, engine)
        known = self._known()
        if known.unavailable:
            raise ResourceError(self._refusal(known))
        return Attack._checked(self, engine)

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Find the neighbours of all words, if the recipe uses them; see :meth:`Attack.warm`."""
        from ticketlab.attacks.components.word_swaps import fetch_neighbours

        if self._own() is None and self._known().neighbours:
            fetch_neighbours(resources.load_word_vectors(), texts, self._known().neighbours)

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the recipe with substitutes for its downloads and with our query budget."""
        from textattack import attack_recipes

        from ticketlab.attacks.components.offline_substitutes import OfflineSubstitutes
        from ticketlab.resources.textattack_import import with_names

        own, goal = self._own(), self.goal(victim)
        if own is not None:
            built = own.build(goal, victim, resources)
        else:
            recipe = getattr(attack_recipes, self._known().name)
            names = OfflineSubstitutes(resources, victim.device).by_name(self.resource_names())
            names |= {"UntargetedClassification": lambda *_, **__: goal, "LevenshteinEditDistance": few_edits}
            built = with_names(recipe.build, names)(victim)
        built.goal_function.query_budget = goal.query_budget
        built.goal_function.batch_size = 1 << 20  # the victim makes its own batches
        return built

    @staticmethod
    def _refusal(known: known_textattack_recipes.KnownRecipe) -> str:
        return f"textattack:{known.name} needs {known.unavailable}, for which there is no substitute here: choose another attack"

    def _own(self) -> OwnRecipe | None:
        return own_recipe(self.recipe) if self.recipe is not None and ":" in self.recipe else None

    def _known(self) -> known_textattack_recipes.KnownRecipe:
        if self.recipe is None:
            raise UsageError(
                "which recipe of textattack? Write textattack:NAME, such as textattack:pruthi (`ticketlab show attack textattack`)"
            )
        return known_textattack_recipes.find(self.recipe)
