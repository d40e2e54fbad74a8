"""The kinds of plugins that can be generated. Each has a folder of templates with its option's name."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.core.hookspecs import HOOK_OF_KIND

LISTENER = "listener"
RECIPE = "recipe"


@frozen
class PluginKind:
    """One kind of plugin. ``option`` is its name on the command line, ``kind`` that in the registry."""

    option: str
    kind: str
    summary: str
    """What the generated plugin does. Listings show it."""
    usage: str
    """A command that uses the plugin, for the README; ``{name}`` is the name of the component."""
    suite: str = ""
    """The conformance suite of the kind in ``ticketlab.testing``; empty for listeners and recipes, which the suite of the plugin checks."""
    extra: str = ""
    """The extra of ticketlab that the plugin needs."""
    guide: str = ""
    """The page in ``docs/howto`` about the kind."""

    @property
    def is_component(self) -> bool:
        """Whether the plugin is a component, in a module that is imported when it is used."""
        return self.kind in HOOK_OF_KIND

    @property
    def hook(self) -> str:
        """The hook that returns the plugin; empty for a listener, which has several."""
        return HOOK_OF_KIND.get(self.kind, "ticketlab_recipes" if self.kind == RECIPE else "")

    @property
    def module(self) -> str:
        """The name of the module, in a package with plugins of several kinds."""
        return self.option.replace("-", "_")


DEMO = "--task demo --model demo --scale demo"
TRAIN = f"ticketlab run fine-tune {DEMO} --attack none"
KINDS: Mapping[str, PluginKind] = {
    kind.option: kind
    for kind in (
        PluginKind(
            "pruner",
            "pruner",
            "score weights by their magnitude and the norm of their row, without training",
            f"ticketlab run --pruner {{name}} {DEMO} --attack none",
            "PrunerTests",
            guide="pruner",
        ),
        PluginKind(
            "adversary",
            "adversary",
            "train on uniform noise in the word embeddings",
            f"{TRAIN} --finetune-adversary {{name}}",
            "AdversaryTests",
            guide="adversary",
        ),
        PluginKind(
            "loss",
            "loss",
            "cross-entropy with smoothed labels",
            f"{TRAIN} --finetune-loss {{name}}",
            "LossTests",
            guide="loss",
        ),
        PluginKind(
            "objective",
            "objective",
            "another objective, with a penalty for confident predictions",
            f"{TRAIN} --set finetune.objective={{name}}",
            "ObjectiveTests",
            guide="objective",
        ),
        PluginKind(
            "stop-rule",
            "stop rule",
            "stop when the scores have not changed for some time",
            "ticketlab run early-robust --task demo --model demo --scale small --stop {name} --attack none",
            "StopRuleTests",
            guide="stop_rule",
        ),
        PluginKind(
            "bias-model",
            "bias model",
            "the lengths of the texts",
            "ticketlab run srnet --bias {name} --task demo_nli --ood demo_nli_ood --model demo --scale demo",
            "BiasModelTests",
            guide="bias_model",
        ),
        PluginKind(
            "attack",
            "attack",
            "swap neighbouring characters of important words",
            f"ticketlab run fine-tune {DEMO} --attack {{name}} --n 20",
            "AttackTests",
            extra="attacks",
            guide="attack",
        ),
        PluginKind(
            "task",
            "task",
            "questions and statements, two classes",
            "ticketlab run fine-tune --task {name} --model demo --scale demo --attack none",
            "TaskTests",
            guide="task",
        ),
        PluginKind(
            "backbone",
            "backbone",
            "a family with the layout of BERT",
            "ticketlab show backbone {name}",
            "AdapterTests",
            guide="model_family",
        ),
        PluginKind(
            "metric",
            "metric",
            "the Brier score: the distance of the probabilities from the labels",
            f"{TRAIN} --metric {{name}}",
            "MetricTests",
            guide="metric",
        ),
        PluginKind(
            "stage",
            "stage",
            "statistics of the weights of a model",
            "ticketlab run {name}.toml --task demo --model demo",
            "StageTests",
            guide="stage",
        ),
        PluginKind(
            "executor",
            "executor",
            "compute each stage in a new process",
            f"ticketlab run fine-tune {DEMO} --attack none --seeds 2 --executor {{name}} --jobs 2",
            "ExecutorTests",
            guide="executor",
        ),
        PluginKind(LISTENER, LISTENER, "writes the history of all trainings of a run to one csv file", TRAIN, guide="listener"),
        PluginKind(
            RECIPE,
            RECIPE,
            "fine-tune under PGD, and evaluate",
            f"ticketlab run {{name}} {DEMO}",
            guide="compose",
        ),
    )
}
"""All kinds by their names on the command line."""


def find_kind(name: str) -> PluginKind:
    """Return the kind with a name, which may have spaces or underscores.

    :raises UsageError: there is none; the message has the nearest name.
    """
    option = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if option not in KINDS:
        raise UsageError(f"--kind {name}: unknown kind{did_you_mean(option, KINDS)}")
    return KINDS[option]
