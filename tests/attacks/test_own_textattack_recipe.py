"""Recipes that are textattack classes of one's own: ``textattack:MODULE:CLASS``."""

from __future__ import annotations

import importlib
import multiprocessing
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.small_recipe import needs_textattack

from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.attacks.textattack_recipe import TextAttackRecipe
from ticketlab.core import plugin_modules, registry
from ticketlab.core.errors import PluginError, ResourceError, SettingError, UsageError
from ticketlab.core.settings import build_component, to_table
from ticketlab.recipes import tables
from ticketlab.recipes.compose import compose
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.runs.stage_key import StageFacts
from ticketlab.stages.attack import AttackStage
from ticketlab.tasks.base import Example

pytestmark = [needs_textattack, pytest.mark.slow]
OWN = '''
"""Recipes as in textattack's documentation."""

import nltk
import textattack
from textattack import Attack
from textattack.attack_recipes import AttackRecipe, TextFoolerJin2019
from textattack.constraints.overlap import LevenshteinEditDistance as Edits
from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
from textattack.goal_functions import UntargetedClassification
from textattack.search_methods import GreedyWordSwapWIR
from textattack.transformations import CompositeTransformation, WordSwapEmbedding
from textattack.transformations import WordSwapNeighboringCharacterSwap, WordSwapRandomCharacterDeletion
from textattack.transformations import WordSwapRandomCharacterInsertion, WordSwapRandomCharacterSubstitution


class Letters(AttackRecipe):
    """DeepWordBugGao2018 of textattack, written again."""

    required_resources = ()

    @staticmethod
    def build(model_wrapper):
        swaps = [
            WordSwapNeighboringCharacterSwap(), WordSwapRandomCharacterSubstitution(), WordSwapRandomCharacterDeletion(),
            WordSwapRandomCharacterInsertion(),
        ]
        constraints = [RepeatModification(), StopwordModification(), Edits(30)]
        return Attack(UntargetedClassification(model_wrapper), constraints, CompositeTransformation(swaps), GreedyWordSwapWIR())


class Fooler(AttackRecipe):
    """The recipe of another class."""

    required_resources = ("tagger", "word_vectors", "encoder")

    @classmethod
    def build(cls, model_wrapper):
        return TextFoolerJin2019.build(model_wrapper)


class Swap(WordSwapEmbedding):
    """A class of one's own that downloads vectors in textattack."""


class Vectors(AttackRecipe):
    required_resources = ("word_vectors",)

    @staticmethod
    def build(model_wrapper):
        from textattack.constraints.semantics import WordEmbeddingDistance
        goal = textattack.goal_functions.UntargetedClassification(model_wrapper)
        return Attack(goal, [WordEmbeddingDistance(min_cos_sim=0.1)], Swap(max_candidates=5), GreedyWordSwapWIR("delete"))


class Undeclared(AttackRecipe):
    required_resources = ()

    @staticmethod
    def build(model_wrapper):
        return Attack(UntargetedClassification(model_wrapper), [], textattack.transformations.WordSwapEmbedding(), GreedyWordSwapWIR())


class Downloads(AttackRecipe):
    required_resources = ()

    @staticmethod
    def build(model_wrapper):
        textattack.shared.utils.download_from_s3("constraints/grammaticality/language-models/cam")


class Corpus(AttackRecipe):
    required_resources = ()

    @staticmethod
    def build(model_wrapper):
        nltk.download("stopwords")


class Breaks(AttackRecipe):
    required_resources = ()

    @staticmethod
    def build(model_wrapper):
        return {}["key"]


class Wrong(AttackRecipe):
    required_resources = ["encoder"]


def letters(model_wrapper):
    return Letters.build(model_wrapper)


def nothing(model_wrapper):
    return None


class NoRecipe:
    pass
'''


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    """The file of the recipes, loaded as a plugin."""
    file = tmp_path / "own_attacks.py"
    file.write_text(OWN, encoding="utf-8")
    with registry.using(registry.load([file], entry_points=False)) as known:
        assert known.problems == []
        yield file


@pytest.fixture
def settings(vector_file: str, tiny_encoder_folder: str) -> dict[str, Any]:
    return {"word_vectors": vector_file, "encoder": tiny_encoder_folder}


def attack(how: TextAttackRecipe, victim: Any, *texts: str, workers: int | None = None) -> list[Any]:
    texts = texts or ("a very good film with great music", "the plot was awful and dull")
    rows = [Example(str(number), (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]
    names = ("negative", "positive")
    found: list[Any] = run_attack(
        how, victim, rows, columns=("text",), label_names=names, records=RecordFile(None, "c"), seed=0, workers=workers
    )
    return found


def refuse_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("name", "stock"),
    [("Letters", "deepwordbug"), ("letters", "deepwordbug"), ("Fooler", "textfooler")],
)
def test_a_class_that_builds_a_stock_recipe_has_its_records(
    own: Path, settings: dict[str, Any], victim: Any, monkeypatch: pytest.MonkeyPatch, name: str, stock: str
) -> None:
    if Resources(tagger="textblob").where("tagger") is None:
        pytest.skip("textblob is not installed")
    refuse_network(monkeypatch)
    ours, theirs = (TextAttackRecipe(recipe=recipe, **settings) for recipe in (f"own_attacks:{name}", stock))
    records = attack(ours, victim)
    assert {record.status for record in records} <= {"success", "failed"}
    assert all(record.queries > 1 for record in records)
    assert records == attack(theirs, victim) == attack(ours, victim, workers=2)


@pytest.mark.system
def test_spawned_processes_find_the_class_in_the_same_plugin(own: Path, victim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spawn = multiprocessing.get_context("spawn")
    monkeypatch.setattr(multiprocessing, "get_context", lambda _=None: spawn)
    how = TextAttackRecipe(recipe="own_attacks:Letters")
    assert attack(how, victim, workers=2) == attack(how, victim)


def test_a_class_of_ones_own_uses_local_resources(
    own: Path, settings: dict[str, Any], victim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_textattack()
    refuse_network(monkeypatch)
    textattack = sys.modules["textattack"]
    before = {name: dict(vars(module)) for name, module in sys.modules.items() if name.startswith("textattack.")}
    how = TextAttackRecipe(recipe="own_attacks:Vectors", query_budget=9, **settings)
    assert how.resource_names() == ("word_vectors",)
    assert [record.status for record in attack(how, victim)] != ["error", "error"]
    assert max(record.queries for record in attack(how, victim)) == 9
    assert {name: dict(vars(sys.modules[name])) for name in before} == before  # nothing of textattack is left replaced
    assert textattack.shared.WordEmbedding.counterfitted_GLOVE_embedding.__module__ == "textattack.shared.word_embeddings"


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (
            "Undeclared",
            ResourceError,
            "`own_attacks:Undeclared` uses WordSwapEmbedding, which needs `word_vectors`, and does not",
        ),
        (
            "Downloads",
            ResourceError,
            r"`own_attacks:Downloads` downloads 'constraints/gram.*', and attacks download nothing: .*own_",
        ),
        ("Corpus", ResourceError, "`own_attacks:Corpus` downloads 'stopwords', and attacks download nothing"),
        ("Breaks", PluginError, r"own_attacks\.py failed: KeyError: 'key' \(own_attacks\.py:\d+, in build\)"),
        ("nothing", PluginError, r"`own_attacks:nothing` built NoneType, not a textattack\.Attack \(own_attacks\.py:\d+\)"),
        ("NoRecipe", UsageError, r"`own_attacks:NoRecipe` is neither a class with `build\(model_wrapper\)`"),
        ("Wrong", UsageError, r"required_resources of `own_attacks:Wrong` must be a tuple of some of 'word_vectors', .*attacks\.py:\d+\)"),
        ("Lettres", UsageError, r"`own_attacks` has no `Lettres`; did you mean `[Ll]etters`\?"),
    ],
)
def test_a_recipe_that_cannot_run_is_refused_in_one_line(own: Path, victim: Any, name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        attack(TextAttackRecipe(recipe=f"own_attacks:{name}"), victim)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("os:system", UsageError, "no loaded plugin has the module `os`, and no others are imported: name its file with --plugin, or"),
        ("this:d", UsageError, "no loaded plugin has the module `this`"),
        ("own_atacks:Letters", UsageError, r"no loaded plugin has the module `own_atacks`, .*; did you mean `own_attacks`\?"),
        (
            "own_attacks.Letters",
            SettingError,
            "textattack has no recipe 'own_attacks.Letters'; a class in a module of a plugin",
        ),
        ("own_attacks:Letters()", SettingError, r"'own_attacks:Letters\(\)' is not MODULE:CLASS"),
        ("../own_attacks:Letters", SettingError, "is not MODULE:CLASS"),
    ],
)
def test_other_modules_are_not_imported(own: Path, tmp_path: Path, name: str, error: type[Exception], message: str) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'[finetune]\nkind = "train"\n[attack]\nkind = "attack"\nmodel = "finetune"\nattacks = ["textattack:{name}"]\n', encoding="utf-8"
    )
    sys.modules.pop("this", None)
    with pytest.raises(error, match=message):
        compose(recipe, tasks="demo").stages["attack"].attacks[0].find()
    assert "this" not in sys.modules


def facts() -> StageFacts:
    return StageFacts.of(AttackStage(attacks=["textattack:own_attacks:Letters"]), {})


def test_the_code_of_the_plugin_is_part_of_the_key(own: Path) -> None:
    before = facts()
    assert before == facts()
    own.write_text(OWN.replace("Edits(30)", "Edits(20)"), encoding="utf-8")
    with registry.using(registry.load([own], entry_points=False)):
        assert before.components.keys() == facts().components.keys()
        assert before != facts()
    builtin = StageFacts.of(AttackStage(attacks=["textattack:pruthi"]), {}).components
    assert builtin == {"attack/textattack": "built-in/1"}


def test_the_resources_are_found_in_the_source(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(
        "import textattack as ta\nfrom textattack.constraints.grammaticality import PartOfSpeech as Tag\n"
        "def build(model):\n    return ta.Attack(None, [Tag()], ta.transformations.WordSwapWordNet(), None)\n",
        encoding="utf-8",
    )
    with registry.using(registry.load([file], entry_points=False)):
        assert TextAttackRecipe(recipe="some:build").resource_names() == ("tagger", "wordnet")
        with pytest.raises(ResourceError, match=r"^--attack textattack:some:build: .*wordnet"):
            TextAttackRecipe(recipe="some:build", wordnet=str(tmp_path)).find()


@pytest.mark.parametrize("how", ["installed", "folder"])
def test_a_class_in_a_module_of_a_package(how: str, tmp_path: Path, victim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "ownpackage"
    (package / "inner").mkdir(parents=True)
    for place in (package, package / "inner"):
        (place / "__init__.py").write_text("", encoding="utf-8")
    (package / "inner" / "attacks.py").write_text(OWN, encoding="utf-8")
    info = tmp_path / "site" / "ownpackage-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ownpackage\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[ticketlab]\nownpackage = ownpackage\n", encoding="utf-8")
    if how == "installed":
        monkeypatch.syspath_prepend(package.parent)
        importlib.invalidate_caches()
    with registry.using(registry.load([] if how == "installed" else [package], entry_points=how == "installed")):
        name = "textattack:ownpackage.inner.attacks:Letters"
        built = build_component("attack", name, "at")
        assert built.label == name
        assert not any(module.endswith("inner.attacks") for module in sys.modules)
        assert [record.status for record in attack(built, victim)] != ["error", "error"]
        assert built.find() == built.resources()
        table: Any = {"attack": {"kind": "attack", "attacks": [name]}}
        changed = tables.override(table, f"attack.attacks.{name}.query_budget=4")["attack"]["attacks"]
        assert to_table(build_component("attack", changed[0], "at"))["query_budget"] == 4
        with pytest.raises(UsageError, match=r"no loaded plugin has the module `ownpackage\.outer`"):
            plugin_modules.find("ownpackage.outer", registry.current())
    for module in [module for module in sys.modules if module.startswith("ownpackage")]:
        del sys.modules[module]


def test_one_module_in_two_plugins_is_refused(own: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "own_attacks.py"
    other.parent.mkdir()
    other.write_text(OWN, encoding="utf-8")
    with (
        registry.using(registry.load([own, other], entry_points=False)),
        pytest.raises(UsageError, match=r"the module `own_attacks` is in .*own_attacks\.py and .*own_attacks\.py: rename one"),
    ):
        TextAttackRecipe(recipe="own_attacks:Letters").find()
