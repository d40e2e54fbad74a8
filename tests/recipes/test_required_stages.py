"""``--loss poe`` works with any recipe: the bias model and the teacher that a loss needs are used or added."""

import pytest

from ticketlab.core.errors import UsageError
from ticketlab.recipes.compose import compose


def table(name=None, **overrides):
    return compose(name, tasks=["mnli"], **overrides).to_table()


def stages(found):
    return [name for name, value in found.items() if isinstance(value, dict)]


def test_a_bias_stage_is_added_if_a_loss_needs_one_and_the_recipe_has_none():
    found = table("robust-ticket", loss="poe")
    assert stages(found)[0] == "bias"
    assert found["bias"]["model"]["name"] == "overlap"
    assert found["search"]["bias"] == "bias"
    assert found["retrain"]["bias"] == "none"


def test_nothing_is_added_if_no_loss_needs_it():
    assert "bias" not in table("robust-ticket")
    assert "bias" not in table("srnet-std")
    assert "bias" in table("srnet")


def test_the_fine_tuned_model_is_the_teacher_unless_it_has_another_loss():
    assert table("srnet-confreg")["search"]["teacher"] == "finetune"
    assert table(loss="confreg")["search"]["teacher"] == "finetune"
    found = table("srnet-dense", stages={"finetune": {"loss": "confreg"}})
    assert stages(found)[:2] == ["teacher", "bias"] or stages(found)[:2] == ["bias", "teacher"]
    assert found["finetune"]["teacher"] == "teacher"
    assert found["teacher"]["loss"]["name"] == "cross-entropy"
    assert (found["teacher"]["epochs"], found["teacher"]["lr"]) == (found["finetune"]["epochs"], found["finetune"]["lr"])


def test_a_bias_model_or_a_file_is_chosen_for_every_loss_that_needs_one(tmp_path):
    found = table("srnet-from-poe", bias="hypothesis-only")
    assert found["bias"]["model"]["name"] == "hypothesis-only"
    file = tmp_path / "own.jsonl"
    file.touch()
    found = table("srnet-from-poe", bias=str(file))
    assert (found["finetune"]["bias"], found["search"]["bias"]) == (str(file), str(file))
    assert "bias" not in stages(found)


def test_an_unknown_or_unneeded_bias_model_is_refused():
    with pytest.raises(UsageError, match=r"--bias overlop: neither a file nor a bias model; did you mean `overlap`"):
        table("srnet", bias="overlop")
    with pytest.raises(UsageError, match=r"no loss of this recipe needs a bias model"):
        table("robust-ticket", bias="overlap")


def test_a_loss_may_be_set_by_path_too():
    assert stages(table("robust-ticket", sets=["retrain.loss=reweight"]))[0] == "bias"
    assert table("robust-ticket", loss="poe", sets=["bias.folds=3"])["bias"]["folds"] == 3


def test_a_loss_that_is_set_by_path_gets_the_bias_model_of_the_recipe():
    for given in ({"sets": ["finetune.loss=poe"]}, {"stages": {"finetune": {"loss": "poe"}}}):
        assert compose("srnet-dense", tasks=["fever"], **given).to_table()["bias"]["model"]["name"] == "claim-only"
    assert table("srnet-std", sets=["search.loss=poe", "bias.folds=3"])["bias"]["folds"] == 3


def test_a_stage_named_teacher_with_another_loss_is_not_used_as_the_teacher(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[teacher]\nkind = "train"\nloss = "focal"\n\n[student]\nkind = "train"\n')
    with pytest.raises(UsageError, match=r"student\.teacher: the stage `teacher` does not train with plain cross-entropy"):
        compose(file, tasks=["mnli"], stages={"student": {"loss": "confreg"}})


def test_an_added_teacher_starts_from_the_pre_trained_model(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[bias]\nkind = "bias"\n\n[a]\nkind = "train"\nloss = "poe"\nbias = "bias"\n\n[b]\nkind = "train"\nstart = "a"\n')
    found = compose(file, tasks=["mnli"], stages={"b": {"loss": "confreg"}}).to_table()
    assert (found["teacher"]["start"], found["b"]["teacher"]) == ("pretrained", "teacher")


def test_the_loss_of_a_search_on_plain_text_needs_nothing(tmp_path):
    (tmp_path / "mine.toml").write_text('extends = "orticket"\n[search]\nloss = "poe"\n')
    found = table(tmp_path / "mine.toml", text="articles.txt")
    assert "bias" not in stages(found)
    with pytest.raises(UsageError, match=r"--loss poe: has no effect on the stage `search`: the objective `mlm` learns from no labels"):
        table("orticket", loss="poe", text="articles.txt")


def test_an_unknown_loss_is_refused_with_its_path():
    with pytest.raises(UsageError, match=r"search\.loss: unknown loss `poee`; did you mean `poe`"):
        table("srnet", sets=["search.loss=poee"])


def test_the_search_gets_the_sparsity_and_the_scope_of_the_draw():
    found = table("srnet", sparsity="1/5", scope="global")
    assert (found["search"]["sparsity"], found["draw"]["sparsity"]) == (0.2, 0.2)
    assert (found["search"]["pruner"]["scope"], found["draw"]["scope"]) == ("global", "global")
    assert table(pruner="imp-rewind", sparsity=0.7)["search"]["sparsity"] == 0.7


def test_attacks_can_be_added_to_a_recipe_without_attacks():
    found = table("srnet", attacks=["deepwordbug"])
    assert found["attack"]["model"] == "search"


def test_challenge_sets_replace_those_of_the_recipe():
    assert [one["name"] for one in table("srnet")["ood"]] == ["hans"]
    found = table("srnet", ood=["paws_wiki"], ood_map=["neutral=paraphrase"])
    assert [one["name"] for one in found["ood"]] == ["paws_wiki"]
    assert found["ood_map"] == ["neutral=paraphrase"]


def test_the_label_map_of_the_recipe_is_replaced_along_with_its_challenge_sets():
    """PAWS calls a duplicate a paraphrase, and HANS has neither label."""
    assert compose("srnet", tasks=["qqp"]).ood_map == ("not_duplicate=not_paraphrase", "duplicate=paraphrase")
    assert compose("srnet", tasks=["qqp"], ood=["hans"], ood_map=["duplicate=entailment"]).ood_map == ("duplicate=entailment",)


def test_a_recipe_of_only_a_bias_stage_accepts_another_bias_model(tmp_path):
    file = tmp_path / "bias.toml"
    file.write_text('[bias]\nkind = "bias"\n')
    assert compose(file, tasks=["mnli"], bias="claim-only").to_table()["bias"]["model"]["name"] == "claim-only"
