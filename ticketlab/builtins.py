"""The components that come with ticketlab, registered through the hooks that third parties use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ticketlab.hookspecs import Components, Lazy, hookimpl


@hookimpl
def ticketlab_pruners() -> Components:
    """Pruners of the papers."""
    return [
        Lazy("hard-concrete", "learn a stochastic gate per weight, the weights frozen", "ticketlab.pruners.hard_concrete:HardConcrete"),
        Lazy("importance", "learn a coefficient per head and neuron, with the weights", "ticketlab.pruners.importance:Importance"),
        Lazy("magnitude", "score weights by their size, without training", "ticketlab.pruners.magnitude:Magnitude"),
        Lazy("random", "score units at random, without training", "ticketlab.pruners.random:Random"),
    ]


@hookimpl
def ticketlab_adversaries() -> Components:
    """Adversaries on the word embeddings."""
    return [
        Lazy("none", "plain training, one pass a step", "ticketlab.adversaries.none:Clean"),
        Lazy("fgm", "one step along the gradient, beside the clean loss", "ticketlab.adversaries.fgm:FGM"),
        Lazy("pgd", "train on the last of K perturbations of the word embeddings", "ticketlab.adversaries.pgd:PGD"),
        Lazy("freelb", "average the loss over K perturbations of the word embeddings", "ticketlab.adversaries.freelb:FreeLB"),
    ]


@hookimpl
def ticketlab_losses() -> Components:
    """Losses of a classification task."""
    return [Lazy("cross-entropy", "minus the log-probability of the label", "ticketlab.losses.cross_entropy:CrossEntropy")]


@hookimpl
def ticketlab_attacks() -> Components:
    """Attacks of the papers."""
    return [
        Lazy("deepwordbug", "swap, delete, insert and replace characters of important words", "ticketlab.attacks.deepwordbug:DeepWordBug"),
        Lazy("textfooler", "replace important words by near neighbours of the same meaning", "ticketlab.attacks.textfooler:TextFooler"),
    ]


@hookimpl
def ticketlab_tasks() -> Components:
    """Data sets of the papers, local files, and the embedded demo."""
    hub = [
        ("sst2", "movie reviews, two classes (GLUE)"),
        ("imdb", "long movie reviews, two classes"),
        ("ag_news", "news, four classes"),
        ("qnli", "does the sentence answer the question (GLUE)"),
        ("qqp", "are two questions the same (GLUE)"),
        ("mnli", "entailment between two sentences, three classes (GLUE)"),
    ]
    return [
        Lazy("demo", "embedded review sentences, two classes, with negation and contrast", "ticketlab.tasks.demo:Demo"),
        Lazy("local", "a csv, tsv, jsonl or parquet file, or a folder of them", "ticketlab.tasks.local:Local"),
        *(Lazy(name, summary, f"ticketlab.tasks.hub:{name.title().replace('_', '')}") for name, summary in hub),
    ]


@hookimpl
def ticketlab_stop_rules() -> Components:
    """When a search has seen enough."""
    return [
        Lazy("none", "take all the epochs", "ticketlab.stop_rules.none:Never"),
        Lazy("fixed", "stop at a fixed time", "ticketlab.stop_rules.fixed:Fixed"),
        Lazy("mask-distance", "stop when the masks that would be drawn stop moving", "ticketlab.stop_rules.mask_distance:MaskDistance"),
        Lazy("patience", "stop when the development accuracy stops rising", "ticketlab.stop_rules.patience:Patience"),
    ]


@hookimpl
def ticketlab_objectives() -> Components:
    """What a training minimises."""
    return [
        Lazy("task", "the labels of the task, with a loss", "ticketlab.objectives.task:OnTask"),
        Lazy("mlm", "masked language modelling on plain text, without a task", "ticketlab.objectives.mlm:MaskedLM"),
    ]


@hookimpl
def ticketlab_backbones() -> Components:
    """Adapters of the model families."""
    return [
        Lazy("bert", "BERT", "ticketlab.backbone.adapters:Bert"),
        Lazy("roberta", "RoBERTa", "ticketlab.backbone.adapters:Roberta"),
        Lazy("electra", "ELECTRA", "ticketlab.backbone.adapters:Electra"),
        Lazy("distilbert", "DistilBERT", "ticketlab.backbone.adapters:DistilBert"),
        Lazy("deberta-v2", "DeBERTa-v2 and -v3", "ticketlab.backbone.adapters:DebertaV2"),
    ]


@hookimpl
def ticketlab_recipes() -> Mapping[str, str]:
    """The papers' recipes and their baselines."""
    folder = Path(__file__).parent / "recipes"
    return {path.stem: str(path) for path in sorted(folder.glob("*.toml"))}
