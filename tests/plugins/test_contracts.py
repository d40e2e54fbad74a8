"""Recipes with components of third parties: composed with built-in ones, resumed after an interruption, and refused where they err."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ticketlab_infobert
import ticketlab_learned_mixin
import ticketlab_smart
import torch
from attrs import frozen
from support.third_party import registered
from third_party import distillation, every, head_importance, supervised_contrast
from third_party.supervised_contrast import contrast
from torch import Tensor, nn

from ticketlab.adversaries.base import AdversaryRun
from ticketlab.core.errors import PluginError, UsageError
from ticketlab.plugin import (
    Adversary,
    Backbone,
    Batch,
    Loss,
    LossRun,
    Pruner,
    Search,
    TrainingPlan,
    component,
    log_likelihood,
    plain_step,
    weight_units,
)
from ticketlab.recipes import recipe, tables
from ticketlab.recipes.required_stages import add_required_stages
from ticketlab.runs.plan import describe
from ticketlab.runs.run import run
from ticketlab.runs.stage_key import StageFacts
from ticketlab.stages.loss_inputs import check_vocabularies
from ticketlab.tasks.demo.pairs import DemoPairs
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.training.loop import Loop

Make = Callable[..., recipe.Recipe]
TABLE = {
    "finetune": {"kind": "train", "epochs": 1, "lr": 1e-3, "batch_size": 8},
    "search": {"kind": "search", "start": "finetune", "epochs": 1, "batch_size": 8, "checkpoint_seconds": 0.0},
}


@pytest.fixture(autouse=True)
def _third_parties(_own_registry: None) -> Iterator[None]:
    packages = (ticketlab_smart, ticketlab_infobert, ticketlab_learned_mixin)
    with registered(*packages, every, head_importance, supervised_contrast, distillation):
        yield


@pytest.fixture(scope="module")
def make(tiny: dict[str, Path]) -> Make:
    """Build a recipe that fine-tunes and searches in less than a second; ``sets`` are ``path=value``. A bias model needs pairs."""

    def made(*sets: str, precision: str = "fp32") -> recipe.Recipe:
        table: dict[str, Any] = {**TABLE, "model": str(tiny["bert"]), "max_length": 24, "precision": precision, "seeds": [0]}
        for assignment in sets:
            table = tables.override(table, assignment)
        pairs = "bias" in table["search"]
        table = {"bias": {"kind": "bias", "folds": 2}, **table} if pairs else table
        return recipe.build_recipe("small", table | {"tasks": [(DemoPairs if pairs else DemoTask)(rows=32, dev_rows=8, test_rows=8)]})

    return made


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lab that has the fine-tuned model after the first test."""
    return tmp_path_factory.mktemp("contracts") / "lab"


def search_of(done: Any) -> dict[str, Any]:
    (task,) = done.results["tasks"].values()
    found: dict[str, Any] = task["0"]["search"]
    return found


def scores_of(done: Any, lab: Path) -> bytes:
    key = search_of(done)["key"]
    return (lab / "stages" / key[:2] / key / "scores.safetensors").read_bytes()


def forgotten_in(done: Any) -> list[str]:
    return [warning for warning in search_of(done).get("warnings", ()) if "changes from step to step" in warning]


COMPOSED = [
    pytest.param(("search.adversary=smart", "search.pruner=hard-concrete"), id="smart-hard-concrete"),
    pytest.param(("search.adversary=smart", "search.pruner=mask-training", "search.loss=focal"), id="smart-mask-training-focal"),
    pytest.param(("search.adversary=smart", "search.pruner=importance", "search.objective=supervised-contrast"), id="smart-importance"),
    pytest.param(("search.adversary=every", "search.adversary.inner=smart", "search.pruner=importance"), id="every-smart"),
    pytest.param(
        ("search.objective=supervised-contrast", "search.objective.projection=4", "search.adversary=freelb", "search.pruner=hard-concrete"),
        id="projected-contrast",
    ),
    pytest.param(
        ("search.loss=layer-distillation", "search.teacher=finetune", "search.adversary=freelb", "search.pruner=hard-concrete"),
        id="distillation-freelb-hard-concrete",
    ),
    pytest.param(("search.adversary=infobert", "search.pruner=hard-concrete"), id="infobert-freelb-hard-concrete"),
    pytest.param(("search.adversary=infobert", "search.adversary.inner=smart", "search.pruner=mask-training"), id="infobert-smart"),
    pytest.param(
        ("search.loss=learned-mixin", "search.bias=bias", "search.adversary=fgm", "search.pruner=mask-training"), id="mixin-fgm-masks"
    ),
    pytest.param(
        ("search.loss=learned-mixin", "search.bias=bias", "search.adversary=infobert", "search.pruner=importance"), id="mixin-infobert"
    ),
]


@pytest.mark.parametrize("sets", COMPOSED)
def test_a_search_that_is_interrupted_in_the_middle_ends_with_the_same_bits(
    make: Make, lab: Path, tmp_path: Path, sets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends between the passes and the optimizer of the third step, without a signal that the loop could handle, as at a kill.

    Every parameter of the optimizer has the same bits at the end, those of losses and adversaries too, which are not kept.
    """
    trained: dict[str, list[Tensor]] = {}
    run_loop = Loop.run

    def remember(self: Loop) -> Any:
        finished = run_loop(self)
        trained[f"{self.title} in {self.checkpoint.path.parents[3]}"] = [
            parameter.detach().clone() for group in self.optimizer.param_groups for parameter in group["params"]
        ]
        return finished

    monkeypatch.setattr(Loop, "run", remember)
    whole = run(make(*sets), lab)
    original, calls = Loop._add_penalties, []

    def add_penalties(self: Loop) -> None:
        calls.append(self.title)
        if calls.count("search") == 3:
            raise KeyboardInterrupt
        original(self)

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "_add_penalties", add_penalties)
        with pytest.raises(KeyboardInterrupt):
            run(make(*sets), tmp_path)
    resumed = run(make(*sets), tmp_path)
    assert scores_of(resumed, tmp_path) == scores_of(whole, lab)
    assert search_of(resumed)["search"] == search_of(whole)["search"]
    assert not forgotten_in(whole)
    first, second = (trained[f"search in {place}"] for place in (lab, tmp_path))
    assert first
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def test_the_parameters_of_a_loss_are_trained_in_a_search_and_are_not_the_models(make: Make, lab: Path) -> None:
    with_loss = search_of(run(make("search.loss=layer-distillation", "search.teacher=finetune"), lab))["search"]
    plain = search_of(run(make(), lab))["search"]
    assert with_loss["history"][-1]["projection"] > 0
    assert with_loss["trainable_parameters"] == plain["trainable_parameters"]


def test_the_parameters_of_an_objective_are_trained_in_a_search_that_freezes_the_model(make: Make, lab: Path) -> None:
    sets = "search.objective=supervised-contrast", "search.objective.projection=4"
    found = search_of(run(make(*sets, "search.eval_steps=1"), lab))["search"]
    norms = [look["projection_norm"] for look in found["history"]]
    assert len(norms) > 1
    assert all(one != other for one, other in itertools.pairwise(norms))
    assert found["trainable_parameters"] == search_of(run(make(), lab))["search"]["trainable_parameters"]


def test_contrast_of_three_examples() -> None:
    """Two examples of a label, alike, each draw the other with p = e / (e + 1); the third is alone: 2 log(1 + 1 / e) / 3."""
    vectors = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]])
    assert float(contrast(vectors, torch.tensor([0, 0, 1]), temperature=1.0)) == pytest.approx(2 * 0.313262 / 3, abs=1e-6)


def test_an_objective_around_the_task_is_a_training_and_no_search(make: Make, lab: Path) -> None:
    done = run(make("finetune.objective=supervised-contrast"), lab).results["tasks"]["demo"]["0"]["finetune"]
    assert (done["train"]["objective"], done["train"]["uses_task"], done["train"]["task"]) == ("supervised-contrast", True, "demo")


@pytest.mark.parametrize(
    "assignment",
    [
        "search.adversary.inner.steps=2",
        "search.adversary.inner=freelb",
        "search.adversary.interval=3",
    ],
)
def test_settings_of_a_nested_component_are_part_of_the_key(make: Make, assignment: str) -> None:
    nested = ("search.adversary=every", "search.adversary.inner=smart")
    before, after = (StageFacts.of(make(*sets).stages["search"]) for sets in (nested, (*nested, assignment)))
    assert before != after
    assert before.components.keys() >= {"adversary/every", "adversary/smart"}


def test_a_misspelt_setting_of_a_nested_component_is_named(make: Make) -> None:
    with pytest.raises(UsageError, match=r"search.adversary.inner.stepz: .* did you mean `steps`"):
        make("search.adversary=every", "search.adversary.inner=smart", "search.adversary.inner.stepz=2")


@pytest.mark.parametrize(
    ("sets", "precision", "refused"),
    [
        pytest.param(("search.adversary=smart",), "bf16", True, id="bf16"),
        pytest.param(("search.adversary=every", "search.adversary.inner=smart"), "bf16", True, id="nested"),
        pytest.param(("search.adversary=smart", "search.pruner=random"), "bf16", False, id="unused"),
        pytest.param(("search.adversary=smart", "search.pruner=head-importance"), "bf16", True, id="used to score"),
        pytest.param(("search.adversary=smart",), "fp32", False, id="fp32"),
    ],
)
def test_a_precision_is_refused_before_anything_is_computed(
    make: Make, tmp_path: Path, sets: tuple[str, ...], precision: str, refused: bool
) -> None:
    built = make(*sets, precision=precision)
    if not refused:
        assert list(describe(built, tmp_path))
        return
    for start in (lambda: run(built, tmp_path / "lab"), lambda: list(describe(built, tmp_path))):
        with pytest.raises(UsageError, match=r"search: the adversary `smart` cannot compute in bf16; .* --precision fp32"):
            start()
    assert not (tmp_path / "lab" / "stages").exists()


def test_scores_of_batches_depend_on_what_their_loss_depends_on(make: Make, lab: Path) -> None:
    """The same bits for the same seed, whatever was computed before; other bits for another loss, adversary or batch size."""
    base = ("search.pruner=head-importance", "search.pruner.batches=2")
    torch.manual_seed(5)
    first = scores_of(run(make(*base), lab), lab)
    again = Path(f"{lab}-again")
    torch.manual_seed(6)
    assert scores_of(run(make(*base), again), again) == first
    others = ("search.loss=focal", "search.adversary=freelb", "search.batch_size=4", "search.pruner.batch_size=3")
    assert len({first, *(scores_of(run(make(*base, other), lab), lab) for other in others)}) == 1 + len(others)
    without = make("search.pruner=random").stages["search"].identity()
    assert without == make("search.pruner=random", *others[:3]).stages["search"].identity()


def test_a_loss_around_another_needs_the_stages_of_both() -> None:
    nested = {"name": "layer-distillation", "inner": {"name": "poe"}}
    table = {"finetune": {"kind": "train"}, "search": {"kind": "search", "loss": nested}}
    completed = add_required_stages(table)
    assert list(completed) == ["bias", "finetune", "search"]
    assert (completed["search"]["bias"], completed["search"]["teacher"]) == ("bias", "finetune")


def test_a_teacher_of_hidden_states_has_the_vocabulary_of_the_student() -> None:
    def vocabulary(*words: str) -> Any:
        return SimpleNamespace(get_vocab=lambda: {word: index for index, word in enumerate(words)})

    stage: Any = SimpleNamespace(name="search")
    check_vocabularies(stage, vocabulary("a", "b"), vocabulary("a", "b"))
    with pytest.raises(UsageError, match=r"search\.teacher: its vocabulary is not that of the model"):
        check_vocabularies(stage, vocabulary("b", "a"), vocabulary("a", "b"))


def test_the_learning_rate_of_the_stage_is_used_if_a_loss_trains_at_it(make: Make) -> None:
    @frozen
    class Learner(Loss):
        name, summary = "learner", "trains at the stage's rate"

        @property
        def learns_at_rate(self) -> bool:
            return True

    assert "lr" not in make().stages["search"].identity()  # the gates of hard-concrete have a rate of their own
    with registered(Learner):
        assert make("search.loss=learner").stages["search"].identity()["lr"] == 2e-5


def test_a_run_without_state_dict_is_warned_of_and_built_in_components_are_not(make: Make, lab: Path) -> None:
    @frozen
    class Forgetful(Adversary):
        name, summary = "forgetful", "counts its steps, and saves no count"

        def begin(self, plan: TrainingPlan) -> AdversaryRun:
            class Counting(AdversaryRun):
                count = 0

                def step(self, loss_function: Any, batch: Batch, step: int) -> Tensor:
                    self.count += 1
                    return plain_step(loss_function, batch)

            return Counting(self)

    with registered(Forgetful):
        (warning,) = forgotten_in(run(make("search.adversary=forgetful"), lab))
    assert "`count` of Counting changes from step to step and is not in a state_dict" in warning
    built_in = ("search.pruner=imp", "search.pruner.interval=0.5", "search.stop=mask-distance", "search.adversary=pgd", "search.loss=focal")
    assert not forgotten_in(run(make(*built_in), lab))


def broken(make_component: Callable[[], Any]) -> Any:
    return pytest.param(make_component(), id=make_component.__name__)


def never_calls_backward() -> tuple[Any, str]:
    @frozen
    class Broken(Adversary):
        name, summary = "broken", "forgets to call backward"

        def backward(self, loss_function: Any, batch: Batch) -> Tensor:
            return loss_function(batch).loss.detach()

    return Broken, "search: the first step computed no gradients"


def has_no_backward() -> tuple[Any, str]:
    @frozen
    class Broken(Adversary):
        name, summary = "broken", "has no backward"

    return Broken, r"search: NotImplementedError: Broken\.backward is not defined; look at the adversary `broken`"


def forgets_the_inner_run() -> tuple[Any, str]:
    @frozen
    class Broken(Adversary):
        name, summary = "broken", "forgets the run of the inner adversary"
        inner: Adversary = component("adversary", "infobert", help="another adversary")

        def begin(self, plan: TrainingPlan) -> AdversaryRun:
            run = AdversaryRun(self)
            run.inner = self.inner.begin(plan)  # type: ignore[attr-defined]
            run.step = run.inner.step  # type: ignore[attr-defined, method-assign]
            return run

    return Broken, "`inner` of AdversaryRun is never called, and its state is not saved; return it from nested"


def does_not_train_its_critic() -> tuple[Any, str]:
    @frozen
    class Broken(Loss):
        name, summary = "broken", "has a power that is not trained"

        def begin(self, plan: TrainingPlan) -> Any:
            class Power(LossRun):
                def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
                    return self.power * -log_likelihood(logits.log_softmax(dim=1), labels), torch.ones(len(labels))

            run = Power(self)
            run.power = nn.Parameter(torch.ones(()))  # type: ignore[attr-defined]
            return run

    return Broken, "`power` of Power has a gradient and is not trained; return it from parameter_groups"


def returns_a_column() -> tuple[Any, str]:
    @frozen
    class Broken(Loss):
        name, summary = "broken", "returns a column"

        def per_example(self, logits: Tensor, labels: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
            losses = -logits.log_softmax(dim=1).gather(1, labels.unsqueeze(1))
            return losses, torch.ones(len(labels))

    return Broken, r"the loss `broken` returned losses of float32 \(8, 1\)"


def puts_a_gate_on_the_model() -> tuple[Any, str]:
    @frozen
    class Broken(Loss):
        name, summary = "broken", "puts a gate on the model"

        def begin(self, plan: TrainingPlan) -> Any:
            plan.model.gate = nn.Linear(2, 1)
            return super().begin(plan)

    return Broken, "the loss `broken` added `gate.weight` to the model, where a search would freeze it"


def trains_at_the_rate_of_the_stage() -> tuple[Any, str]:
    @frozen
    class Broken(Adversary):
        name, summary = "broken", "trains at the stage's rate, and does not say so"

        def begin(self, plan: TrainingPlan) -> AdversaryRun:
            gate = nn.Parameter(torch.ones(1))

            class Trained(AdversaryRun):
                def parameter_groups(self) -> list[dict[str, Any]]:
                    return [{"params": [gate]}]

            return Trained(self)

    return Broken, "the adversary `broken` trains parameters at the learning rate of the stage: it declares `learns_at_rate`"


class Magnitudes(Search):
    """Scores weights by their magnitude."""

    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone

    def scores(self) -> Any:
        return {name: self.backbone.weight(name).detach().abs() for name in weight_units(self.backbone)}


def changes_weights_in_begin() -> tuple[Any, str]:
    @frozen
    class Broken(Pruner):
        name, summary, searches = "broken", "changes weights", False

        def begin(self, plan: TrainingPlan) -> Search:
            plan.backbone.layers[0].query.weight.data[0, 0] += 1
            return Magnitudes(plan.backbone)

    return Broken, "the pruner `broken` changed the weights of the model in begin"


def changes_weights_in_backward() -> tuple[Any, str]:
    @frozen
    class Broken(Adversary):
        name, summary = "broken", "moves the word embeddings themselves"

        def backward(self, loss_function: Any, batch: Batch) -> Tensor:
            with torch.no_grad():
                loss_function.model.get_input_embeddings().weight.add_(1e-3)
            return plain_step(loss_function, batch)

    return Broken, "search: weights changed while the gradients of a step were computed"


def leaves_a_hook() -> tuple[Any, str]:
    @frozen
    class Broken(Pruner):
        name, summary, searches = "broken", "leaves a hook", False

        def begin(self, plan: TrainingPlan) -> Search:
            plan.backbone.layers[0].query.register_forward_hook(lambda *_: None)
            return Magnitudes(plan.backbone)

    return Broken, "the pruner `broken` left a hook on the model; `close`"


def scores_batches_unannounced() -> tuple[Any, str]:
    @frozen
    class Broken(Pruner):
        name, summary, searches = "broken", "scores batches", False

        def begin(self, plan: TrainingPlan) -> Search:
            list(plan.batches(1))
            return Magnitudes(plan.backbone)

    return Broken, "declares `scores_batches = True`"


def reads_hidden_states_unannounced() -> tuple[Any, str]:
    @frozen
    class Broken(Adversary):
        name, summary = "broken", "reads hidden states"

        def backward(self, loss_function: Any, batch: Batch) -> Tensor:
            loss: Tensor = loss_function(batch).hidden_states[0].sum()
            return loss

    return Broken, r'hidden_states is not kept: .*`required_outputs = \("hidden_states",\)`'


@pytest.mark.parametrize(
    "case",
    [
        broken(never_calls_backward),
        broken(has_no_backward),
        broken(forgets_the_inner_run),
        broken(does_not_train_its_critic),
        broken(returns_a_column),
        broken(puts_a_gate_on_the_model),
        broken(trains_at_the_rate_of_the_stage),
        broken(changes_weights_in_begin),
        broken(changes_weights_in_backward),
        broken(leaves_a_hook),
        broken(scores_batches_unannounced),
        broken(reads_hidden_states_unannounced),
    ],
)
def test_a_component_that_breaks_its_contract_is_named_in_one_line(make: Make, lab: Path, case: tuple[Any, str]) -> None:
    cls, message = case
    with registered(cls), pytest.raises(PluginError, match=message) as caught:
        run(make(f"search.{cls.kind}=broken"), lab)
    assert "\n" not in str(caught.value)


def test_a_nested_setting_is_shown(invoke: Any) -> None:
    places = Path(every.__file__ or ""), Path(ticketlab_smart.__file__ or "").parent
    plugins = [option for place in places for option in ("--plugin", str(place))]
    done = invoke("show", "adversary", "every", *plugins, "--json")
    assert done.exit_code == 0, done.stderr
    assert {setting["name"]: setting["type"] for setting in json.loads(done.stdout)["settings"]}["inner"] == "adversary"
