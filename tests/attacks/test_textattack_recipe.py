from __future__ import annotations

import inspect
import re
import socket
import sys
from pathlib import Path

import pytest
from support.small_wordnet import write_wordnet
from support.stock_recipes import differences, sst2_examples

from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.known_textattack_recipes import RECIPES, find
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.attacks.textattack_recipe import TextAttackRecipe
from ticketlab.attacks.textbugger import TextBugger
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.core.errors import ResourceError, SettingError, UsageError
from ticketlab.core.settings import build_component, from_table, to_table
from ticketlab.recipes.compose import compose
from ticketlab.recipes.single_stage import one_stage
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.resources.word_vectors import read
from ticketlab.stages.attack import AttackStage
from ticketlab.tasks.base import Example

NAMES = ("negative", "positive")
RUN = [name for name, recipe in RECIPES.items() if not recipe.unavailable]
REFUSED = [name for name, recipe in RECIPES.items() if recipe.unavailable]
needs_textattack = pytest.mark.skipif(not installed(), reason="textattack is not installed")
needs_textblob = pytest.mark.skipif(Resources(tagger="textblob").where("tagger") is None, reason="textblob is not installed")


@pytest.fixture
def settings(vector_file, tiny_encoder_folder, tiny_mlm_folder, tmp_path):
    wordnet = write_wordnet(tmp_path / "wordnet")
    return {"word_vectors": vector_file, "encoder": tiny_encoder_folder, "mlm": tiny_mlm_folder, "wordnet": str(wordnet)}


def attack(how, victim, examples):
    return run_attack(how, victim, examples, columns=("text",), label_names=NAMES, records=RecordFile(None, "c"), seed=0)


def examples(victim, *texts):
    return [Example(str(number), (text,), int(victim([text]).argmax())) for number, text in enumerate(texts)]


@needs_textattack
@needs_textblob
@pytest.mark.parametrize("name", RUN)
def test_a_recipe_runs_on_a_real_example_without_the_network(name, settings, victim, real_data, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was touched")

    import_textattack()
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    before = dict(vars(sys.modules[import_textattack().attack_recipes.__dict__[name].__module__]))
    (real,) = sst2_examples(real_data, 1, words=6)
    rows = [Example(row.id, row.texts, int(victim([row.texts[0]]).argmax())) for row in (real,)]
    rows += examples(victim, "a very good film with great music")
    how = TextAttackRecipe(recipe=name, query_budget=150, **settings)
    records = attack(how, victim, rows)
    assert not [record.message for record in records if record.status not in ("success", "failed")]
    assert all(record.queries > 1 for record in records)
    assert records == attack(how, victim, rows)
    assert dict(vars(sys.modules[import_textattack().attack_recipes.__dict__[name].__module__])) == before


@needs_textattack
@pytest.mark.parametrize("name", REFUSED)
def test_recipes_without_substitutes_are_refused_before_anything_runs(name, victim):
    how = TextAttackRecipe(recipe=name)
    with pytest.raises(ResourceError, match=rf"^textattack:{name} needs .+, for which there is no substitute here") as problem:
        attack(how, victim, examples(victim, "good film"))
    assert "\n" not in str(problem.value)
    assert victim.rows <= 1


@needs_textattack
def test_every_recipe_of_textattack_is_known_by_class_and_by_command_line_name():
    textattack = import_textattack()
    base = textattack.attack_recipes.AttackRecipe
    classes = {name for name, cls in vars(textattack.attack_recipes).items() if inspect.isclass(cls) and issubclass(cls, base)}
    assert classes - {"AttackRecipe"} == set(RECIPES)
    shorts = {short: place.rpartition(".")[2] for short, place in textattack.attack_args.ATTACK_RECIPE_NAMES.items()}
    assert {recipe.short: name for name, recipe in RECIPES.items() if recipe.short} == shorts


@needs_textattack
@needs_textblob
@pytest.mark.parametrize("name", RUN)
def test_the_thresholds_shown_are_those_of_the_recipe(name, settings, victim):
    how = TextAttackRecipe(recipe=name, **settings)
    built = how.build(victim, how.prepare())
    numbers = {float(number) for number in re.findall(r"\b\d+(?:\.\d+)?\b", repr(built) + repr(vars(built.search_method)))}
    shown = [float(number) for number in re.findall(r"\b\d+(?:\.\d+)?\b", RECIPES[name].thresholds)]
    assert set(shown) <= numbers | {number for constraint in built.pre_transformation_constraints for number in values(constraint)}


@needs_textattack
@needs_textblob
@pytest.mark.parametrize(
    ("kind", "recipe"),
    [
        (TextFooler, {}),
        (TextBugger, {}),
        *((TextAttackRecipe, {"recipe": name}) for name in RUN if "word_vectors" in RECIPES[name].required_resources),
    ],
)
def test_the_neighbours_of_a_texts_words_are_searched_in_advance(kind, recipe, settings, victim, monkeypatch):
    how = kind(**recipe, word_vectors=settings["word_vectors"], encoder=settings["encoder"])
    resources = how.prepare()
    vectors = read(Path(settings["word_vectors"]))  # not in the cache of `load`
    monkeypatch.setattr(Resources, "load_word_vectors", lambda _: vectors)
    how.warm(resources, ["the Film was good, and the music great"])
    monkeypatch.setattr(vectors, "_candidates", lambda *_: pytest.fail("a word was searched again"))
    text = import_textattack().shared.AttackedText("the Film was good, and the music great")
    assert how.build(victim, resources).transformation(text, indices_to_modify=[1, 3, 6, 7])


def values(thing):
    return {float(value) for value in vars(thing).values() if isinstance(value, (int, float))}


REAL = {
    "DeepWordBugGao2018": 12,
    "InputReductionFeng2018": 12,
    "Pruthi2019": 12,
    "PWWSRen2019": 9,
    "LEAP2023": 7,
}


@needs_textattack
@pytest.mark.parametrize("name", REAL)
def test_results_of_a_recipe_equal_textattacks(name, victim, real_data, monkeypatch):
    how = TextAttackRecipe(recipe=name)
    missing = [need for need in how.resource_names() if Resources().where(need) is None]
    if missing:
        pytest.skip(f"not here: {', '.join(missing)}")
    different, records = differences(how, name, victim, sst2_examples(real_data, 10, words=REAL[name]))
    assert different == []
    assert not [record.message for record in records if record.status == "error"]


@needs_textattack
def test_the_query_budget_bounds_a_recipe(victim, settings):
    rows = examples(victim, "the film was good and the music great", "a dull movie")
    budgets = [max(record.queries for record in attack(TextAttackRecipe(recipe="pruthi", query_budget=n), victim, rows)) for n in (3, 9)]
    assert budgets == [3, 9]


@needs_textattack
def test_a_recipe_that_merges_words_by_their_tags_needs_a_tagger(settings, victim):
    how = TextAttackRecipe(recipe="clare", tagger="none", **settings)
    with pytest.raises(ResourceError, match="`tagger` cannot be `none`"):
        attack(how, victim, examples(victim, "good film"))


@needs_textattack
@needs_textblob
def test_without_a_tagger_a_recipe_has_no_constraint_on_parts_of_speech(settings, victim):
    free, bound = (
        TextAttackRecipe(recipe="textfooler", tagger=tagger, **settings).build(victim, Resources(**settings, tagger=tagger))
        for tagger in ("none", "textblob")
    )
    text, other = (import_textattack().shared.AttackedText(text) for text in ("the film was good", "the film was slowly"))
    (any_one,) = [one for one in free.constraints if type(one).__name__ == "NoConstraint"]
    (same,) = [one for one in bound.constraints if type(one).__name__ == "SamePartOfSpeech"]
    changed = text.replace_word_at_index(3, "slowly")
    assert other.text == changed.text
    changed.attack_attrs["last_transformation"] = free.transformation
    assert (any_one(changed, text), same(changed, text)) == (True, False)


def test_an_unnamed_recipe_is_an_error():
    with pytest.raises(UsageError, match=r"^which recipe of textattack\? Write textattack:NAME"):
        TextAttackRecipe().prepare()


def test_a_recipe_requires_only_the_resources_that_it_uses():
    assert TextAttackRecipe(recipe="pruthi").resource_names() == ()
    assert TextAttackRecipe(recipe="iga").resource_names() == ("word_vectors",)
    assert TextAttackRecipe().resource_names() == TextAttackRecipe.required_resources


# names with a colon


def test_a_variant_is_named_after_a_colon_by_class_or_command_line_name():
    short, long = (build_component("attack", name, "at") for name in ("textattack:pruthi", "textattack:Pruthi2019"))
    assert short == long == TextAttackRecipe(recipe="Pruthi2019")
    assert short.label == "textattack:Pruthi2019"
    assert DeepWordBug().label == "deepwordbug"
    assert from_table(TextAttackRecipe, to_table(short)) == short
    table = {"name": "textattack:iga", "query_budget": 5}
    assert build_component("attack", table, "at") == TextAttackRecipe(recipe="IGAWang2019", query_budget=5)


LISTED = "`ticketlab show attack textattack` lists those that run"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("textattack:prutti", f"at.recipe: textattack has no recipe 'prutti'; did you mean `pruthi`? ({LISTED})"),
        ("textattack:nosuch", f"at.recipe: textattack has no recipe 'nosuch' ({LISTED})"),
        ("textattack:pws", f"at.recipe: textattack has no recipe 'pws'; did you mean `pwws` or `pso`? ({LISTED})"),
        ("textatack:pruthi", "at: unknown attack `textatack`; did you mean `textattack`?"),
        ("deepwordbug:3", "at: attack `deepwordbug` has no variants: omit `:3`"),
        (
            {"name": "textattack:pruthi", "recipe": "iga"},
            "at: `textattack:pruthi` and recipe = 'iga' contradict each other; write one of them",
        ),
    ],
)
def test_an_unknown_variant_is_named_in_the_message(asked, message):
    with pytest.raises(SettingError) as problem:
        build_component("attack", asked, "at")
    assert str(problem.value) == message


def test_at_most_three_recipes_are_suggested_for_an_unknown_name():
    for name in ("text", "recipe2020", "Attack2018", "ba", "a"):
        with pytest.raises(SettingError) as problem:
            find(name)
        offered = str(problem.value).removesuffix(f" ({LISTED})").partition("; did you mean ")[2]
        assert len([word for word in offered.split() if word != "or"]) <= 3


def test_a_stage_accepts_several_variants_but_no_duplicates():
    stage = AttackStage(attacks=["textattack:pruthi", "textattack:iga", "pwws"])
    assert [attack.label for attack in stage.attacks] == ["textattack:Pruthi2019", "textattack:IGAWang2019", "pwws"]
    with pytest.raises(SettingError, match="another attack is already named"):
        AttackStage(attacks=["textattack:pruthi", {"name": "textattack", "recipe": "Pruthi2019"}])


def test_a_recipe_file_keeps_the_settings_of_a_requested_variant(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[finetune]\nkind = "train"\n[attack]\nkind = "attack"\nmodel = "finetune"\n'
        'attacks = [{ name = "textattack:pruthi", query_budget = 7 }, "textattack:iga"]\n'
    )
    composed = compose(
        path, tasks="demo", attacks=["textattack:Pruthi2019", "textattack:leap"], sets="attack.attacks.textattack:leap.query_budget=9"
    )
    assert [(attack.label, attack.query_budget) for attack in composed.stages["attack"].attacks] == [
        ("textattack:Pruthi2019", 7),
        ("textattack:LEAP2023", 9),
    ]


def test_the_command_takes_a_variant(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    tables = [{"name": "textattack:pruthi"}]
    recipe = one_stage(
        "attack",
        str(tmp_path),
        [build_component("task", "demo", "task")],
        {"attacks": tables},
        ["attack.attacks.textattack:pruthi.query_budget=4"],
    )
    assert [(attack.label, attack.query_budget) for attack in recipe.stages["attack"].attacks] == [("textattack:Pruthi2019", 4)]
