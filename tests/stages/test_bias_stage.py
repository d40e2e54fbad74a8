"""The bias stage: planted and real shortcuts, and what the result depends on."""

import json
import random

import numpy as np
import pytest

import ticketlab
from ticketlab.backbone import loading
from ticketlab.bias_models.overlap import WordOverlap
from ticketlab.bias_models.probabilities import read
from ticketlab.bias_models.text_only import ClaimOnly, HypothesisOnly
from ticketlab.core.errors import DataError
from ticketlab.core.settings import build_component
from ticketlab.lab.layout import BIAS
from ticketlab.recipes import recipe
from ticketlab.stages.base import Context
from ticketlab.stages.bias import BiasStage
from ticketlab.tasks.base import Example, TaskData
from ticketlab.tasks.datasets.local import LocalDataset
from ticketlab.tasks.demo.reviews import DemoTask

NAMES = ("entailment", "neutral", "contradiction")
WORDS = [f"{first}{second}" for first in ("ba", "ce", "di", "fo", "gu") for second in ("k", "l", "m", "n", "p", "r", "s", "t")]


def data_of(splits, columns=("premise", "hypothesis"), names=NAMES):
    return TaskData("planted", columns, names, splits, "fingerprint")


def planted(strength, rows=600, seed=0):
    """Pairs where, with this probability, the number of shared words determines the label; otherwise the label is random."""
    generator = random.Random(seed)
    examples = []
    for number in range(rows):
        label = generator.randrange(3)
        shared = label if generator.random() < strength else generator.randrange(3)
        words = generator.sample(WORDS, 12)
        premise, others = words[:8], words[8:]
        hypothesis = [others, premise[:2] + others[:2], premise[:4]][shared]
        examples.append(Example(f"train-{number}", (" ".join(premise), " ".join(hypothesis)), label))
    third = rows // 6
    return data_of({"train": tuple(examples[2 * third :]), "dev": tuple(examples[:third]), "test": tuple(examples[third : 2 * third])})


@pytest.fixture
def apply(tmp_path, tiny):
    """Run only this stage; return its result and the file that it writes."""

    def run_stage(stage, data, model=str(tiny["bert"]), name="bias"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        context = Context(
            directory=folder,
            key="key",
            name="bias",
            model=model,
            max_length=32,
            data=data,
            seed=0,
            precision="fp32",
            inputs={},
            log=lambda record: None,
        )
        return stage.run(context)["bias"], folder / BIAS

    return run_stage


@pytest.mark.parametrize(("strength", "expected"), [(0.9, 0.9 + 0.1 / 3), (0.6, 0.6 + 0.4 / 3)])
def test_a_planted_bias_is_found(apply, strength, expected):
    found, _ = apply(BiasStage(), planted(strength))
    for split, rows in (("train", 400), ("dev", 100), ("test", 100)):
        deviation = (expected * (1 - expected) / rows) ** 0.5
        assert found[split]["n"] == rows
        assert abs(found[split]["accuracy"] - expected) < 3 * deviation
    assert found["train"]["calibration_error"] < 0.1
    assert found["train"]["log_loss"] < np.log(3)
    assert 1 / 3 < found["train"]["bias_degree"] < found["train"]["accuracy"]


def test_without_a_bias_the_bias_model_is_no_better_than_chance(apply):
    found, _ = apply(BiasStage(), planted(0))
    assert abs(found["train"]["accuracy"] - 1 / 3) < 3 * (2 / 9 / 400) ** 0.5
    assert found["train"]["bias_degree"] == pytest.approx(1 / 3, abs=0.02)


def test_the_result_is_plain_json_with_the_facts_of_the_fit(apply):
    found, file = apply(BiasStage(folds=3), planted(0.5))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["model"], found["features"], found["folds"], found["rows"], found["fitted"]) == ("overlap", 5, 3, 400, 400)
    assert found["converged"] is True
    assert found["words"] == {"vectors": "model", "distinct": len(WORDS), "without_vector": 0}
    assert set(found["train"]["bias_degree_of"]) == set(NAMES)
    assert len(file.read_text().splitlines()) == 400


def test_the_file_is_reproducible_and_independent_of_the_order_of_examples(apply):
    data = planted(0.7)
    shuffled = {split: tuple(random.Random(5).sample(examples, len(examples))) for split, examples in data.splits.items()}
    first, file = apply(BiasStage(), data, name="first")
    again, same = apply(BiasStage(), data, name="again")
    mixed, other = apply(BiasStage(), data_of(shuffled), name="mixed")
    assert file.read_bytes() == same.read_bytes() == other.read_bytes()
    assert first == again == mixed


def test_the_losses_read_what_the_stage_wrote(apply):
    data = planted(0.9)
    _, file = apply(BiasStage(), data)
    train = data.splits["train"]
    log_probs = read(file, train, NAMES)
    assert log_probs.exp().sum(dim=1).numpy() == pytest.approx(np.ones(len(train)), abs=1e-5)
    said = log_probs.argmax(dim=1).tolist()
    assert sum(label == example.label for label, example in zip(said, train, strict=True)) / len(train) > 0.85


def test_an_example_with_a_set_of_labels_gets_probabilities_and_is_not_fitted(apply):
    data = planted(0.8)
    extra = tuple(Example(f"other/{number}", ("bak bal", "bak"), 3) for number in range(50))
    alone, _ = apply(BiasStage(folds=1), data, name="alone")
    found, file = apply(BiasStage(folds=1), data_of({**data.splits, "train": data.splits["train"] + extra}), name="mixed")
    assert (found["rows"], found["fitted"]) == (450, 400)
    assert found["train"] == alone["train"]
    assert read(file, extra, NAMES).exp().sum(dim=1).numpy() == pytest.approx(np.ones(50), abs=1e-5)


def test_leakage_from_repeated_texts_is_not_a_bias(apply):
    """Each claim occurs once with each label: a classifier that saw the other occurrence would always be wrong."""
    generator = random.Random(2)
    claims = [" ".join(generator.sample(WORDS, 5)) for _ in range(150)]
    examples = tuple(Example(f"{claim}-{label}", (claim, "evidence"), label) for claim in claims for label in (0, 1))
    data = data_of({"train": examples, "dev": (), "test": ()}, ("claim", "evidence"), ("no", "yes"))
    found, _ = apply(BiasStage(model=ClaimOnly()), data)
    assert abs(found["train"]["accuracy"] - 0.5) < 3 * (0.25 / 300) ** 0.5
    assert (found["dev"], found["test"]) == (None, None)


@pytest.mark.parametrize("model", [WordOverlap(), HypothesisOnly()], ids=["overlap", "hypothesis-only"])
def test_a_task_of_single_texts_has_no_pairs(apply, model):
    with pytest.raises(DataError, match=rf"demo: the bias model `{model.name}` needs a pair .*\(`\w+`\); .*--task .*: `claim-only`$"):
        apply(BiasStage(model=model), DemoTask(rows=40).load())


def test_claim_only_works_for_single_texts(apply):
    found, _ = apply(BiasStage(model=ClaimOnly(), folds=2), DemoTask(rows=40).load())
    assert found["train"]["n"] == 40


def test_a_label_with_too_few_examples_is_reported(apply):
    data = planted(0.5)
    few = tuple(example for example in data.splits["train"] if example.label < 2)
    lone = next(example for example in data.splits["train"] if example.label == 2)
    with pytest.raises(DataError, match="`contradiction` has one training example"):
        apply(BiasStage(), data_of({**data.splits, "train": (*few, lone)}))
    found, _ = apply(BiasStage(folds=1), data_of({**data.splits, "train": (*few, lone)}))
    assert found["fitted"] == len(few) + 1


def test_the_word_vectors_are_part_of_the_key(tmp_path, tiny):
    vectors = tmp_path / "vectors.txt"
    task = tmp_path / "pairs.csv"
    generator = random.Random(4)
    lines = [f"{generator.choice(WORDS)} good,{generator.choice(WORDS)},{'yes' if number % 2 else 'no'}" for number in range(60)]
    task.write_text("\n".join(["premise,hypothesis,label", *lines]) + "\n")
    keys = []
    for numbers in ("1 0", "1 0", "0 1"):
        vectors.write_text("".join(f"{word} {numbers if word == WORDS[0] else '1 1'}\n" for word in WORDS))
        table = {"bias": {"kind": "bias", "model": {"name": "overlap", "word_vectors": str(vectors)}}, "model": str(tiny["bert"])}
        done = ticketlab.run(recipe.build_recipe("bias", table | {"tasks": [LocalDataset(path=str(task))]}), tmp_path / "lab")
        stage = done.results["tasks"]["pairs"]["0"]["bias"]
        keys.append(stage["key"])
        assert stage["bias"]["words"]["vectors"] == str(vectors)
        assert stage["bias"]["words"]["without_vector"] == 1
    assert keys[0] == keys[1] != keys[2]
    assert (tmp_path / "lab" / "stages" / keys[0][:2] / keys[0] / BIAS).is_file()


def test_bias_models_are_found_by_name():
    assert build_component("bias model", "overlap", "model") == WordOverlap()
    assert not BiasStage.seeded


@pytest.fixture
def demo_model():
    try:
        return loading.resolve_model("demo")
    except Exception:
        pytest.skip("the demo model is not installed")


def test_word_overlap_predicts_sick_well_and_the_hypothesis_does_not(apply, real_data, demo_model):
    data = LocalDataset(path=str(real_data / "sick")).load()
    overlap, _ = apply(BiasStage(), data, demo_model)
    assert overlap["train"]["accuracy"] > overlap["train"]["majority"] + 0.05
    assert overlap["test"]["accuracy"] > overlap["test"]["majority"] + 0.05
    assert overlap["words"]["without_vector"] == 0
    alone, _ = apply(BiasStage(model=HypothesisOnly()), data, demo_model)
    assert abs(alone["train"]["accuracy"] - alone["train"]["majority"]) < 0.05
    assert overlap["train"]["log_loss"] < alone["train"]["log_loss"]


def test_a_claim_of_fever_symmetric_predicts_nothing(apply, real_data, demo_model, tmp_path):
    file = tmp_path / "fever.jsonl"
    file.write_bytes((real_data / "fever_symmetric" / "validation.jsonl").read_bytes())
    data = LocalDataset(path=str(file)).load()
    found, _ = apply(BiasStage(model=ClaimOnly()), data, demo_model)
    train = found["train"]
    assert abs(train["accuracy"] - 0.5) < 3 * (0.25 / train["n"]) ** 0.5
