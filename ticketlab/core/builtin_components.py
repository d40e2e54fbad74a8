"""The built-in components, registered through the same hooks as those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ticketlab.core.hookspecs import Components, Lazy, hookimpl

REFUSED = {
    ("task", "stsb"): "task `stsb` is a regression (how similar two sentences are, from 0 to 5), and ticketlab trains classifiers: "
    "it has no regression objective and no Pearson or Spearman correlation; for a classifier of pairs see `mrpc`, `qqp` and `rte`",
}
"""Why there is no component of a well-known name, by kind and name, in lower case and without `-` and `_`."""


IMPORTERS = {"textattack": "ticketlab.resources.textattack_import:import_textattack"}
"""Packages whose import by a plugin is left to a function of ours, because it would change the process and use the network."""


@hookimpl
def ticketlab_pruners() -> Components:
    """Pruners of the papers."""
    return [
        Lazy(
            "hard-concrete", "train a stochastic gate per weight, with the weights frozen", "ticketlab.pruners.hard_concrete:HardConcrete"
        ),
        Lazy("imp", "train the weights, and remove the smallest step by step", "ticketlab.pruners.imp:IMP"),
        Lazy("imp-rewind", "like imp, and rewind the weights to their initial values", "ticketlab.pruners.imp:IMPRewind"),
        Lazy("importance", "train a coefficient per head and neuron together with the weights", "ticketlab.pruners.importance:Importance"),
        Lazy("magnitude", "score weights by their magnitude, without training", "ticketlab.pruners.magnitude:Magnitude"),
        Lazy("mask-training", "train a mask of the weights, with the weights frozen", "ticketlab.pruners.mask_training:MaskTraining"),
        Lazy("random", "score units at random, without training", "ticketlab.pruners.random:Random"),
        Lazy(
            "structured-hard-concrete",
            "train a stochastic gate per head and neuron, with the weights frozen",
            "ticketlab.pruners.structured_hard_concrete:StructuredHardConcrete",
        ),
        Lazy(
            "structured-imp",
            "train the weights, and remove the smallest heads and neurons step by step",
            "ticketlab.pruners.structured_imp:StructuredIMP",
        ),
        Lazy(
            "structured-mask-training",
            "train a mask of the heads and neurons, with the weights frozen",
            "ticketlab.pruners.structured_mask_training:StructuredMaskTraining",
        ),
    ]


@hookimpl
def ticketlab_adversaries() -> Components:
    """Adversaries on the word embeddings."""
    return [
        Lazy("none", "plain training, one pass per step", "ticketlab.adversaries.none:Clean"),
        Lazy("fgm", "train on the clean word embeddings and on a one-step perturbation of them", "ticketlab.adversaries.fgm:FGM"),
        Lazy("pgd", "train on the last of K perturbations of the word embeddings", "ticketlab.adversaries.pgd:PGD"),
        Lazy("freelb", "average the loss over K perturbations of the word embeddings", "ticketlab.adversaries.freelb:FreeLB"),
    ]


@hookimpl
def ticketlab_losses() -> Components:
    """Losses of a classification task."""
    return [
        Lazy("cross-entropy", "the negative log-probability of the label", "ticketlab.losses.cross_entropy:CrossEntropy"),
        Lazy("focal", "cross-entropy that fades as the model becomes confident", "ticketlab.losses.focal:Focal"),
        Lazy("poe", "cross-entropy of the model's probabilities times those of a bias model", "ticketlab.losses.poe:ProductOfExperts"),
        Lazy("reweight", "cross-entropy, weighted by how wrong a bias model is", "ticketlab.losses.reweight:Reweight"),
        Lazy(
            "confreg",
            "distil a teacher that is less confident where a bias model is right",
            "ticketlab.losses.confreg:ConfidenceRegularisation",
        ),
        Lazy("distillation", "learn the probabilities of a teacher along with the labels", "ticketlab.losses.distillation:Distillation"),
    ]


@hookimpl
def ticketlab_bias_models() -> Components:
    """Bias models for the shortcuts of the papers' tasks."""
    return [
        Lazy(
            "overlap",
            "how much of the second text is in the first: five features of its words",
            "ticketlab.bias_models.overlap:WordOverlap",
        ),
        Lazy("claim-only", "the first text only: its word vectors, max-pooled", "ticketlab.bias_models.text_only:ClaimOnly"),
        Lazy("hypothesis-only", "the second text only: its word vectors, max-pooled", "ticketlab.bias_models.text_only:HypothesisOnly"),
    ]


@hookimpl
def ticketlab_attacks() -> Components:
    """Attacks of the papers."""
    return [
        Lazy(
            "bae",
            "replace important words by predictions of a masked language model that does not see them",
            "ticketlab.attacks.bae:BAE",
        ),
        Lazy(
            "bert-attack",
            "replace important words by predictions of a masked language model that sees them",
            "ticketlab.attacks.bert_attack:BertAttack",
        ),
        Lazy("deepwordbug", "swap, delete, insert and replace characters of important words", "ticketlab.attacks.deepwordbug:DeepWordBug"),
        Lazy("pwws", "replace important words by synonyms from WordNet", "ticketlab.attacks.pwws:PWWS"),
        Lazy("textattack", "a recipe of textattack by name, with local resources", "ticketlab.attacks.textattack_recipe:TextAttackRecipe"),
        Lazy("textbugger", "misspell important words, or replace them by near neighbours", "ticketlab.attacks.textbugger:TextBugger"),
        Lazy("textfooler", "replace important words by near neighbours of the same meaning", "ticketlab.attacks.textfooler:TextFooler"),
    ]


@hookimpl
def ticketlab_tasks() -> Components:
    """Data sets of the papers, local files, and the built-in demo tasks."""
    hub = [
        ("sst2", "movie reviews, two classes (GLUE)"),
        ("imdb", "long movie reviews, two classes"),
        ("ag_news", "news, four classes"),
        ("qnli", "does the sentence answer the question (GLUE)"),
        ("qqp", "do two questions ask the same thing (GLUE)"),
        ("mrpc", "do two sentences mean the same (GLUE)"),
        ("cola", "is the sentence grammatical (GLUE)"),
        ("rte", "does the second sentence follow from the first, two classes (GLUE)"),
        ("wnli", "does the second sentence, with the pronoun replaced, follow from the first, two classes; adversarial (GLUE)"),
        ("mnli", "entailment between two sentences, three classes (GLUE)"),
    ]
    hub_challenges = [
        ("hans", "entailment where three shallow heuristics fail, two classes (HANS)"),
        ("paws_wiki", "are sentences of the same words paraphrases, two classes (PAWS-Wiki)"),
    ]
    manual_download = [
        ("paws_qqp", "are questions of the same words paraphrases, two classes (PAWS-QQP)"),
        ("fever", "does the evidence support or refute the claim, three classes (FEVER)"),
        ("fever_symmetric_v1", "FEVER where the claim alone says nothing about the label, two classes (Symmetric v0.1)"),
        ("fever_symmetric_v2", "FEVER where the claim alone says nothing about the label, two classes (Symmetric v0.2)"),
    ]
    places = {"hub": hub, "hub_challenges": hub_challenges, "manual_download": manual_download}
    return [
        Lazy("demo", "built-in review sentences, two classes, with negation and contrast", "ticketlab.tasks.demo.reviews:DemoTask"),
        Lazy(
            "demo_nli",
            "built-in sentence pairs, two classes, with a word-overlap shortcut at a chosen rate",
            "ticketlab.tasks.demo.pairs:DemoPairs",
        ),
        Lazy(
            "demo_nli_ood",
            "built-in challenge set of demo_nli: word overlap says nothing about the label",
            "ticketlab.tasks.demo.pairs:DemoPairsOOD",
        ),
        Lazy(
            "hub",
            "a data set of the Hugging Face hub, as OWNER/NAME or OWNER/NAME:CONFIG",
            "ticketlab.tasks.datasets.hub_dataset:HubDataset",
        ),
        Lazy("local", "a csv, tsv, jsonl, json, parquet or arrow file, or a folder of them", "ticketlab.tasks.datasets.local:LocalDataset"),
        *(
            Lazy(name, summary, f"ticketlab.tasks.datasets.{module}:{name.title().replace('_', '')}")
            for module, tasks in places.items()
            for name, summary in tasks
        ),
    ]


@hookimpl
def ticketlab_stop_rules() -> Components:
    """Rules that end a search early."""
    return [
        Lazy("none", "run all epochs", "ticketlab.stop_rules.none:Never"),
        Lazy("fixed", "stop at a fixed time", "ticketlab.stop_rules.fixed:Fixed"),
        Lazy("mask-distance", "stop when the masks that would be drawn stop changing", "ticketlab.stop_rules.mask_distance:MaskDistance"),
        Lazy("patience", "stop when the development accuracy stops rising", "ticketlab.stop_rules.patience:Patience"),
    ]


@hookimpl
def ticketlab_objectives() -> Components:
    """Objectives that a training stage minimises."""
    return [
        Lazy("task", "the labels of the task, with a loss", "ticketlab.objectives.task:TaskObjective"),
        Lazy("mlm", "masked language modelling on plain text, without a task", "ticketlab.objectives.mlm:MaskedLM"),
    ]


@hookimpl
def ticketlab_backbones() -> Components:
    """Adapters of the model families."""
    return [
        Lazy("bert", "BERT", "ticketlab.backbone.families:Bert"),
        Lazy("roberta", "RoBERTa", "ticketlab.backbone.families:Roberta"),
        Lazy("electra", "ELECTRA", "ticketlab.backbone.families:Electra"),
        Lazy("distilbert", "DistilBERT", "ticketlab.backbone.families:DistilBert"),
        Lazy("deberta-v2", "DeBERTa-v2 and -v3", "ticketlab.backbone.families:DebertaV2"),
        Lazy("mpnet", "MPNet", "ticketlab.backbone.families:MPNet"),
        Lazy("albert", "ALBERT", "ticketlab.backbone.families:Albert"),
        Lazy("modernbert", "ModernBERT", "ticketlab.backbone.families:ModernBert"),
        Lazy("gpt2", "GPT-2", "ticketlab.backbone.families:GPT2"),
    ]


@hookimpl
def ticketlab_metrics() -> Components:
    """Metrics of predictions, besides those that every evaluation reports."""
    return [
        Lazy(
            "calibration",
            "the expected calibration error: how far the confidence of predictions is from their accuracy",
            "ticketlab.metrics.calibration:Calibration",
        ),
    ]


@hookimpl
def ticketlab_stages() -> Components:
    """The stages of recipes."""
    return [
        Lazy("train", "fine-tune a model, or retrain a ticket", "ticketlab.stages.train:Train"),
        Lazy("bias", "probabilities of a model that sees only a shortcut", "ticketlab.stages.bias:BiasStage"),
        Lazy("search", "score the prunable units of a model", "ticketlab.stages.search:SearchStage"),
        Lazy("draw", "draw a ticket from the scores of a search", "ticketlab.stages.draw:Draw"),
        Lazy("evaluate", "clean accuracy and F1 of a model, in and out of distribution", "ticketlab.stages.evaluate:Evaluate"),
        Lazy("attack", "accuracy of a model under text attacks", "ticketlab.stages.attack:AttackStage"),
        Lazy("export", "write a model in a portable format", "ticketlab.stages.export:Export"),
        Lazy("measure", "size, parameters and latency of a model", "ticketlab.stages.measure:Measure"),
    ]


@hookimpl
def ticketlab_executors() -> Components:
    """Executors: where stages are computed."""
    return [
        Lazy("local", "processes of this machine, which share its cores, GPUs and memory", "ticketlab.executors.local:Local"),
        Lazy("ray", "tasks of a Ray cluster, which may have many machines", "ticketlab.executors.ray:Ray"),
    ]


@hookimpl
def ticketlab_recipes() -> Mapping[str, str]:
    """The papers' recipes and their baselines."""
    folder = Path(__file__).parents[1] / "recipes" / "builtin"
    return {path.stem: str(path) for path in sorted(folder.glob("*.toml"))}
