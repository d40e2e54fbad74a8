"""evaluate: clean accuracy of a model on a split of the task, and on the recipe's challenge sets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.backbone.device import pick_device
from ticketlab.backbone.onnx_classifier import load_measured
from ticketlab.core.settings import component, reference, setting
from ticketlab.lab.layout import PREDICTION_FILES, PREDICTIONS
from ticketlab.metrics.base import Metric
from ticketlab.stages import input_warnings, predictions
from ticketlab.stages.base import MEASURED, MODEL_HELP, Context, Split, Stage, TaskStage, split_setting
from ticketlab.stages.search import check_leaves_model
from ticketlab.stages.set_metrics import metrics_of_set
from ticketlab.tasks import label_map
from ticketlab.tasks.base import TaskData
from ticketlab.tasks.datasets import challenge_sets
from ticketlab.tasks.scoring import LabelMapping, score_predictions
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict


@frozen
class Evaluate(TaskStage):
    """Predict every example of a split, and of the test split of each of the recipe's challenge sets. Writes ``predictions.parquet``.

    Each accuracy is reported with the majority baseline. On a challenge set the prediction is the most probable of all the model's labels,
    which is then mapped to a label of the set: on a two-class set, three labels of a model become two only after the prediction, as in the
    papers. A prediction that maps to no label of the set is wrong.
    """

    name: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "clean accuracy and F1 of a model, in and out of distribution"
    seeded: ClassVar[bool] = False
    measures_model: ClassVar[bool] = True
    copied_output: ClassVar[tuple[str, str] | None] = (PREDICTIONS, PREDICTION_FILES)
    shown_elsewhere: ClassVar[tuple[str, ...]] = ("model", "split")
    version: ClassVar[int] = 4  # 4: predictions are in a Parquet file; 3: each F1 has its own name, and unseen text is counted

    model: str = reference("train", accepts=MEASURED, help=MODEL_HELP)
    split: Split = split_setting("the examples to evaluate on; `all` is every split together")
    label_map: tuple[str, ...] = setting((), help="`MODEL_LABEL=TASK_LABEL`, where the names differ")
    metrics: tuple[Metric, ...] = component(
        "metric", None, many=True, added_later=True, help="metrics to compute in addition to accuracy, F1, and so on"
    )
    batch_size: int = setting(64, at_least=1, unit="examples", identity=False, help="examples per forward pass")

    @property
    def uses_ood(self) -> bool:
        """True: they are evaluated too."""
        return True

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a search that produces no model; see :meth:`Stage.check`."""
        check_leaves_model(named)

    def run(self, context: Context) -> dict[str, Any]:
        """Evaluate; see :meth:`Stage.run`."""
        model, tokenizer, names = load_measured(context.inputs["model"].model, context.warn_of_input)
        order = label_map.match_labels(names, context.data.label_names, self.label_map)
        model.to(pick_device())
        own = context.data.label_names
        trained_on = context.inputs["model"].trained_on()
        seconds = 0.0
        predicted_rows: list[Mapping[str, Any]] = []

        def measure(data: TaskData, split: Split, meaning: LabelMapping, name: str = "") -> dict[str, Any]:
            nonlocal seconds
            examples = data.examples(split)
            rows = tokenize(examples, tokenizer, context.max_length)
            seen = input_warnings.warn_of_texts(context, f"{data.name}, {split}", rows)
            started = time.perf_counter()
            logits = predict(model, rows, batch_size=self.batch_size, title=f"{context.name}: {data.name}")
            seconds += time.perf_counter() - started
            logits = logits[:, order]
            predicted_rows.extend(predictions.of_set(name, data, split, logits, own, meaning))
            found = score_predictions(logits.argmax(dim=1).tolist(), examples, data, meaning)
            if self.metrics:
                found["metrics"] = metrics_of_set(self.metrics, logits, examples, data, meaning)
            predicted = [label for label, count in found["predicted"].items() if count]
            if len(predicted) == 1 and found["n"] > 1 and found["majority"] < 1:
                context.warn(f"the model predicts `{predicted[0]}` for every example of {data.name}; it may have learned nothing")
            known = {} if trained_on is None else {"trained_on": trained_on.count(examples)}
            named = {label: [own[index] for index in indices] for label, indices in found["meaning"].items()}
            return {"split": split, **found, "meaning": named, **seen, **known}

        clean = measure(context.data, self.split, challenge_sets.map_labels(context.data.name, own, own))
        result = {"clean": clean, "prediction_seconds": seconds}
        if context.ood:
            result["ood"] = {
                data.name: {
                    **measure(data, "test", challenge_sets.map_labels(data.name, own, data.label_names, context.ood_map), data.name),
                    "dropped": dict(data.dropped),
                }
                for data in context.ood
            }
        predictions.write(context.directory / PREDICTIONS, predicted_rows, own)
        return result
