"""attack: accuracy of a model under text attacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import evolve, frozen

from ticketlab.attacks.base import Attack
from ticketlab.attacks.engine.chunk_work import model_reference
from ticketlab.attacks.engine.executor import SharedVictim
from ticketlab.attacks.engine.run import IN_FLIGHT, run_attack, sample
from ticketlab.attacks.results import caveats, record_header
from ticketlab.attacks.results.metrics import measure
from ticketlab.attacks.results.record_file import RecordFile, path_in
from ticketlab.attacks.results.similarity import AUTO, find_encoder, language_warning, with_similarity
from ticketlab.backbone.device import pick_device
from ticketlab.backbone.onnx_classifier import OnnxClassifier, load_measured
from ticketlab.core import progress
from ticketlab.core.component import Precision
from ticketlab.core.errors import SettingError
from ticketlab.core.formatting import counted
from ticketlab.core.settings import component, reference, setting
from ticketlab.inference.victim import Victim
from ticketlab.stages.base import MEASURED, MODEL_HELP, Context, Split, Stage, TaskStage, split_setting
from ticketlab.stages.search import check_leaves_model
from ticketlab.tasks import label_map


@frozen
class AttackStage(TaskStage):
    """Attack a sample of a split with each attack. Writes the records of each to ``records/NAME.jsonl``, with a hyphen for a colon in NAME.

    The sample depends on ``sample_seed`` and not on the run's seed, so all seeds and methods are attacked on the same examples.
    """

    name: ClassVar[str] = "attack"
    summary: ClassVar[str] = "accuracy of a model under text attacks"
    seeded: ClassVar[bool] = False
    measures_model: ClassVar[bool] = True
    shown_elsewhere: ClassVar[tuple[str, ...]] = ("model", "split", "examples", "sample_seed")
    version: ClassVar[int] = 4  # 4: outputs are always logits, and the interval of mean queries is clipped to possible values

    model: str = reference("train", accepts=MEASURED, help=MODEL_HELP)
    attacks: tuple[Attack, ...] = component("attack", "deepwordbug", help="the attacks to run, one after the other", many=True)
    examples: int | None = setting(500, at_least=1, unit="examples", help="size of the sample, stratified by label; none for all")
    sample_seed: int = setting(0, help="selects the sample, and seeds the attack of each example")
    split: Split = split_setting("the examples to sample from; `all` is every split together")
    timeout: float | None = setting(
        None, above=0, unit="seconds", help="give up on an example after this time; its record then depends on the speed of the machine"
    )
    similarity: str | None = setting(
        AUTO,
        help="sentence encoder that measures how similar texts that fooled the model are to the originals: a folder, a hub name or `demo`; "
        "auto: the installed package, if any; none: not measured",
    )
    label_map: tuple[str, ...] = setting((), help="`MODEL_LABEL=TASK_LABEL`, where the names differ")
    precision: Precision = setting(
        "fp32", choices=("fp32", "bf16"), help="precision of the victim and the attack's models; bf16 is faster and gives different numbers"
    )
    in_flight: int = setting(
        IN_FLIGHT, at_least=1, unit="examples", identity=False, help="examples under attack at once in one process; changes only the speed"
    )
    workers: int | None = setting(
        None, at_least=1, unit="processes", identity=False, help="changes only the speed; none: one for each core, or one on a GPU"
    )

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a search that produces no model; see :meth:`Stage.check`."""
        check_leaves_model(named)

    def external_inputs(self) -> dict[str, str]:
        """Return the paths of the attacks' resources: different word vectors make a different attack."""
        places = {
            f"{attack.label}.{name}": place
            for attack in self.attacks
            for name, place in attack.resources().identity(attack.resource_names()).items()
        }
        encoder = find_encoder(self.similarity)
        return {**places, "similarity": str(encoder.where("encoder"))} if encoder else places

    def run(self, context: Context) -> dict[str, Any]:
        """Attack; see :meth:`Stage.run`."""
        prepared = {attack.label: evolve(attack.prepare(), precision=self.precision) for attack in self.attacks}
        chosen = sample(context.data.examples(self.split), self.examples, self.sample_seed)
        labels = context.data.label_names
        if self.examples is not None and len(chosen) < self.examples:
            progress.say(f"the {self.split} split has {counted(len(chosen), 'example')}, not {self.examples}; the sample is all of them")
        model, tokenizer, model_names = load_measured(context.inputs["model"].model, context.warn_of_input)
        if isinstance(model, OnnxClassifier) and self.precision != "fp32":
            raise SettingError(f"{context.name}.precision: an ONNX file has its own precision, which stays as it is; choose fp32")
        output_names = label_map.labels_of_outputs(model_names, labels, self.label_map)
        victim = Victim(model.to(pick_device()), tokenizer, output_names, max_length=context.max_length, precision=self.precision)
        shared = _shared(context)
        trained_on = context.inputs["model"].trained_on()
        encoder = find_encoder(self.similarity)
        results: dict[str, Any] = {}
        for attack in self.attacks:
            facts = record_header.facts(
                attack,
                prepared[attack.label],
                context.data,
                model=self.model,
                split=self.split,
                size=len(chosen),
                seed=self.sample_seed,
                max_length=context.max_length,
                precision=self.precision,
                timeout=self.timeout,
                similarity_encoder=encoder.where("encoder") if encoder else None,
            )
            path = path_in(context.directory, attack.label)
            records = RecordFile(path, context.key, **facts)
            progress.detail(f"{attack.label}: records are written to {path} during the attack")
            found = run_attack(
                attack,
                victim,
                chosen,
                columns=context.data.columns,
                label_names=labels,
                records=records,
                seed=self.sample_seed,
                timeout=self.timeout,
                resources=prepared[attack.label],
                in_flight=self.in_flight,
                workers=self.workers,
                shared=shared,
            )
            if encoder:
                loaded = encoder.load_encoder(victim.device)
                found = with_similarity(found, loaded)
                context.warn_if(language_warning(found, loaded))
            records.finish([example.id for example in chosen], found)
            uses_resources = bool(facts["resources"])
            for caveat in caveats.caveats_of(attack.label, found, labels, query_budget=attack.query_budget, uses_resources=uses_resources):
                context.warn(caveat)
            results[attack.label] = {
                **measure(found, query_budget=attack.query_budget).to_table(),
                "similarity_encoder": encoder.where("encoder") if encoder else None,
                "resources": prepared[attack.label].found(attack.resource_names()),
            }
            context.log({"event": "attack", "stage": context.name, "attack": attack.label, **results[attack.label]})
        return {
            "attacks": results,
            "precision": self.precision,
            "sample": {
                "split": self.split,
                "size": len(chosen),
                "seed": self.sample_seed,
                "labels": {name: sum(example.label == index for example in chosen) for index, name in enumerate(labels)},
                **({} if trained_on is None else {"trained_on": trained_on.count(chosen)}),
            },
        }


def _shared(context: Context) -> SharedVictim | None:
    """Return how workers of an executor find the victim; None if there is no executor."""
    execution = context.attack_execution
    if execution is None:
        return None
    return SharedVictim(execution, model_reference(context.inputs["model"].model, execution.lab))
