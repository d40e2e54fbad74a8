"""What the source of a recipe of one's own tells, without importing it: the resources that it needs, and whether it builds something."""

from __future__ import annotations

import ast

from ticketlab.attacks import known_textattack_recipes
from ticketlab.core.errors import UsageError
from ticketlab.core.plugin_modules import PluginModule
from ticketlab.resources.resources import RESOURCES

DECLARATION = "required_resources"
NEEDS = {
    "WordSwapEmbedding": ("word_vectors",),
    "WordEmbeddingDistance": ("word_vectors",),
    "WordEmbedding": ("word_vectors",),
    "UniversalSentenceEncoder": ("encoder",),
    "PartOfSpeech": ("tagger",),
    "WordSwapMaskedLM": ("mlm",),
    "WordInsertionMaskedLM": ("mlm",),
    "WordMergeMaskedLM": ("mlm", "tagger"),
    "WordSwapWordNet": ("wordnet",),
    **{recipe.name: recipe.required_resources for recipe in known_textattack_recipes.RECIPES.values()},
}
"""The resources that stand for what classes of textattack download, by the name of the class."""


def builds_nothing(module: PluginModule, name: str) -> bool:
    """Return whether the last definition of ``name`` in a module cannot build an attack: it is a literal, or a class without ``build``."""
    defined = [node for node in module.tree().body if name in _names_of(node)]
    return bool(defined) and _is_no_recipe(defined[-1])


def required_resources(module: PluginModule, name: str, shown: str) -> tuple[str, ...]:
    """Return the names of the resources that the class or function ``name`` of a module needs. ``shown`` names it in messages.

    They are those of ``required_resources`` of the class, or else those of all classes of textattack that the source of the module names.

    :raises UsageError: ``required_resources`` is not a tuple of names of resources.
    """
    tree = module.tree()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for statement in node.body:
                targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
                if any(isinstance(target, ast.Name) and target.id == DECLARATION for target in targets):
                    return _declared(statement, module, shown)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    needed = {resource for name in names for resource in NEEDS.get(name, ())}
    return tuple(name for name in RESOURCES if name in needed)


def _declared(statement: ast.stmt, module: PluginModule, shown: str) -> tuple[str, ...]:
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    try:
        declared = None if value is None else ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        declared = None
    if not (isinstance(declared, tuple) and set(declared) <= set(RESOURCES)):
        place = f"{module.file}:{statement.lineno}"
        raise UsageError(f"{DECLARATION} of `{shown}` must be a tuple of some of {', '.join(map(repr, RESOURCES))} ({place})")
    return tuple(name for name in RESOURCES if name in declared)


def _names_of(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines, of those that :func:`builds_nothing` can judge."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return {node.name}
    return {target.id for target in node.targets if isinstance(target, ast.Name)} if isinstance(node, ast.Assign) else set()


def _is_no_recipe(node: ast.stmt) -> bool:
    """Return whether a definition is a literal, or a class that neither has nor inherits a method ``build``."""
    if isinstance(node, ast.ClassDef):
        plain = not node.decorator_list and not node.keywords and all(ast.unparse(base) == "object" for base in node.bases)
        return plain and not any("build" in _names_of(inner) for inner in node.body)
    return isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set))
