"""Recipes that are textattack classes of one's own, in a module of a plugin: ``textattack:MODULE:CLASS``."""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

from attrs import frozen

from ticketlab.attacks.own_recipe_source import DECLARATION, NEEDS, builds_nothing, required_resources
from ticketlab.core import plugin_frames, plugin_modules, registry
from ticketlab.core.errors import PluginError, ResourceError, SettingError, TicketlabError, UsageError
from ticketlab.core.plugin_modules import PluginModule

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources

NAME = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*)")


def check_name(name: str) -> str:
    """Return a name ``MODULE:CLASS``.

    :raises SettingError: it is none.
    """
    if not NAME.fullmatch(name):
        raise SettingError(f"{name!r} is not MODULE:CLASS, such as my_attack:MyRecipe or package.module:MyRecipe")
    return name


@frozen
class OwnRecipe:
    """A subclass of textattack's ``AttackRecipe``, or a function with the same arguments as its ``build``."""

    shown: str
    """``MODULE:CLASS``, as it was written."""

    @functools.cached_property
    def module(self) -> PluginModule:
        """The module, which is not imported yet.

        :raises UsageError: it belongs to no loaded plugin.
        """
        return plugin_modules.find(self.shown.partition(":")[0], registry.current())

    @property
    def attribute(self) -> str:
        """The name of the class or function."""
        return self.shown.partition(":")[2]

    def check(self) -> None:
        """Check that the class is there and may be a recipe, without importing it.

        :raises UsageError: it is not there, or its source shows that it builds nothing.
        """
        name = self.shown.partition(":")[0]
        plugin_modules.check_defines(self.module, self.attribute, name)
        if builds_nothing(self.module, self.attribute):
            raise UsageError(self._no_recipe)

    @property
    def _no_recipe(self) -> str:
        return (
            f"`{self.shown}` is neither a class with `build(model_wrapper)`, as of textattack's AttackRecipe, nor a function "
            f"({self.module.file})"
        )

    @functools.cached_property
    def resource_names(self) -> tuple[str, ...]:
        """The names of the resources that the recipe needs, according to its source.

        :raises UsageError: ``required_resources`` is not a tuple of names of resources.
        """
        return required_resources(self.module, self.attribute, self.shown)

    def build(self, goal: Any, victim: Victim, resources: Resources) -> Any:
        """Return the ``textattack.Attack`` that the recipe builds on the victim, with our goal and local resources.

        :raises PluginError: the module does not import, or the recipe builds no attack.
        :raises ResourceError: the recipe downloads something.
        """
        from ticketlab.attacks.components.edit_distance import few_edits
        from ticketlab.attacks.components.offline_substitutes import OfflineSubstitutes
        from ticketlab.attacks.components.replaced_names import replaced

        make = self._load()
        substitutes = OfflineSubstitutes(resources, victim.device).by_name(self.resource_names)
        substitutes |= {"UntargetedClassification": lambda *_, **__: goal, "LevenshteinEditDistance": few_edits}
        originals = {cls: substitutes.get(name, self._refusing(name)) for name, cls in _originals().items()}
        with replaced(originals, self.module.name.partition(".")[0]), self._without_downloads(resources):
            built = make(victim)
        from textattack import Attack

        if not isinstance(built, Attack):
            place = plugin_frames.place_of(make)
            raise PluginError(f"`{self.shown}` built {type(built).__name__}, not a textattack.Attack{f' ({place})' if place else ''}")
        return built

    def _load(self) -> Callable[[Any], Any]:
        """Import the class or function; return what builds the attack."""
        module = self.module
        if module.name not in sys.modules:
            try:
                importlib.import_module(module.name)
            except (Exception, SystemExit) as problem:
                if isinstance(problem, TicketlabError):
                    raise
                from ticketlab.core.plugin_loading import described

                raise PluginError(f"`{self.shown}` does not import: {described(problem, module.source)}") from problem
        found = getattr(sys.modules[module.name], self.attribute, None)
        make = getattr(found, "build", None) if isinstance(found, type) else found
        if not callable(make):
            raise PluginError(self._no_recipe)
        build: Callable[[Any], Any] = make
        return build

    def _refusing(self, name: str) -> Callable[..., Any]:
        missing = " and ".join(f"`{resource}`" for resource in NEEDS.get(name, ()))
        declared = ", ".join(repr(resource) for resource in (*self.resource_names, *NEEDS.get(name, ())))

        def refuse(*_: Any, **__: Any) -> Any:
            raise ResourceError(
                f"`{self.shown}` uses {name}, which needs {missing}, and does not declare it: write `{DECLARATION} = ({declared},)` in the "
                f"class ({self.module.file})"
            )

        return refuse

    @contextlib.contextmanager
    def _without_downloads(self, resources: Resources) -> Iterator[None]:
        """Refuse downloads of textattack during the block, and use our word vectors for its own."""
        import nltk
        from textattack.shared import WordEmbedding, utils

        from ticketlab.attacks.components.constraints import as_embedding

        def refuse(what: Any, *_: Any, **__: Any) -> Any:
            raise ResourceError(
                f"`{self.shown}` downloads {what!r}, and attacks download nothing: load it from a file in your class ({self.module.file})"
            )

        vectors = (
            (lambda: as_embedding(resources.load_word_vectors()))
            if "word_vectors" in self.resource_names
            else self._refusing("WordEmbedding")
        )
        with (
            mock.patch.object(utils, "download_from_s3", refuse),
            mock.patch.object(utils, "download_from_url", refuse),
            mock.patch.object(nltk, "download", refuse),
            mock.patch.object(WordEmbedding, "counterfitted_GLOVE_embedding", staticmethod(vectors)),
        ):
            yield


def own_recipe(shown: str) -> OwnRecipe:
    """Return the recipe ``MODULE:CLASS``. What is found out about it is kept as long as the same plugins are loaded."""
    known = registry.current()
    if shown not in _recipes or _recipes[shown][0] is not known:
        _recipes[shown] = known, OwnRecipe(shown)
    return _recipes[shown][1]


_recipes: dict[str, tuple[registry.Registry, OwnRecipe]] = {}


@functools.cache
def _originals() -> dict[str, Any]:
    """Return the classes of textattack that have substitutes, by name."""
    from textattack import goal_functions, transformations
    from textattack.constraints import grammaticality, overlap, pre_transformation, semantics
    from textattack.constraints.semantics import sentence_encoders

    places = {
        transformations: (
            "WordSwapEmbedding", "WordSwapMaskedLM", "WordInsertionMaskedLM", "WordMergeMaskedLM", "WordSwapWordNet",
            "WordSwapHomoglyphSwap",
        ),
        semantics: ("WordEmbeddingDistance",),
        sentence_encoders: ("UniversalSentenceEncoder",),
        grammaticality: ("PartOfSpeech",),
        pre_transformation: ("StopwordModification",),
        overlap: ("LevenshteinEditDistance",),
        goal_functions: ("UntargetedClassification",),
    }  # fmt: skip
    return {name: getattr(module, name) for module, names in places.items() for name in names}
