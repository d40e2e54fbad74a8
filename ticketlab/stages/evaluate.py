"""evaluate: clean accuracy of a model on a split of the task, and on the recipe's challenge sets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen

from ticketlab import progress
from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device
from ticketlab.options import reference, setting
from ticketlab.stages.base import Context, Split, Stage, split_setting
from ticketlab.stages.search import check_leaves_model
from ticketlab.tasks import challenge, label_map
from ticketlab.tasks.base import TaskData
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict


@frozen
class Evaluate(Stage):
    """Predict every example of a split, and of the test split of each of the recipe's challenge sets.

    The majority baseline stands beside each accuracy.
    On a challenge set the prediction is the most probable of all the model's labels, read as the label of the set that it means: under a
    two-way set a model's three labels become two afterwards, as in the papers. A prediction that means no label of the set is wrong.
    """

    name: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "clean accuracy and F1 of a model, in and out of distribution"
    seeded: ClassVar[bool] = False
    version: ClassVar[int] = 2  # the F1, the classes and the recall came with 2

    model: str = reference("train", accepts=("train", "search"), help="a train or search stage, a model folder or a hub name")
    split: Split = split_setting("the examples to evaluate on; `all` is every split together")
    label_map: tuple[str, ...] = setting((), help="`MODEL_LABEL=TASK_LABEL`, where the names differ")
    batch_size: int = setting(64, at_least=1, unit="examples", identity=False, help="examples per forward pass")

    @property
    def uses_ood(self) -> bool:
        """Yes."""
        return True

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a search that leaves no model; see :meth:`Stage.check`."""
        check_leaves_model(named)

    def run(self, context: Context) -> dict[str, Any]:
        """Evaluate; see :meth:`Stage.run`."""
        model, tokenizer, names = loading.load_finished(context.inputs["model"].model)
        order = label_map.match(names, context.data.label_names, self.label_map)
        model.to(pick_device())
        seconds = 0.0

        def measure(data: TaskData, split: Split, meaning: challenge.Meaning) -> dict[str, Any]:
            nonlocal seconds
            examples = data.examples(split)
            rows = tokenize(examples, tokenizer, context.max_length)
            started = time.perf_counter()
            logits = predict(model, rows, batch_size=self.batch_size, title=f"{context.name}: {data.name}")
            seconds += time.perf_counter() - started
            predicted: list[int] = logits[:, order].argmax(dim=1).tolist()
            found = challenge.judge(predicted, examples, data, meaning)
            said = [label for label, count in found["predicted"].items() if count]
            if len(said) == 1 and found["n"] > 1 and found["majority"] < 1:
                progress.say(f"{context.name}: of {data.name} the model says `{said[0]}` to every example; it may have learnt nothing")
            named = {label: [own[index] for index in indices] for label, indices in found["meaning"].items()}
            return {**found, "meaning": named, "truncated": rows.truncated}

        own = context.data.label_names
        clean = measure(context.data, self.split, challenge.meaning(context.data.name, own, own))
        result = {"clean": clean, "prediction_seconds": seconds}
        if context.ood:
            result["ood"] = {
                data.name: {
                    **measure(data, "test", challenge.meaning(data.name, own, data.label_names, context.ood_map)),
                    "dropped": dict(data.dropped),
                }
                for data in context.ood
            }
        return result
