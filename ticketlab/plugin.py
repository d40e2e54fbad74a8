"""The names that authors of plugins need: hooks, settings, the base class of each kind of component, and what their methods work with.

Names are imported when they are first used, so a plugin that returns :class:`Lazy` references is listed without importing torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticketlab.core.lazy_exports import lazy_exports

_EXPORTS = {
    "Adapter": "ticketlab.backbone.adapters",
    "Adversary": "ticketlab.adversaries.base",
    "AdversaryRun": "ticketlab.adversaries.base",
    "API_VERSION": "ticketlab.core.plugin_api",
    "as_embedding": "ticketlab.attacks.components.constraints",
    "ascend": "ticketlab.adversaries.base",
    "attach_mask": "ticketlab.backbone.masks",
    "Attack": "ticketlab.attacks.base",
    "Backbone": "ticketlab.backbone.backbone",
    "Batch": "ticketlab.training.batch",
    "BiasModel": "ticketlab.bias_models.base",
    "Callback": "ticketlab.core.callback",
    "Component": "ticketlab.core.component",
    "component": "ticketlab.core.settings",
    "compute_work": "ticketlab.executors.worker",
    "Context": "ticketlab.stages.base",
    "Damaged": "ticketlab.core.errors",
    "DataError": "ticketlab.core.errors",
    "derive_seed": "ticketlab.inference.random_state",
    "detach_mask": "ticketlab.backbone.masks",
    "draw": "ticketlab.tickets.draw",
    "drawn_for_batch": "ticketlab.training.batch_part",
    "DropoutMasks": "ticketlab.adversaries.base",
    "EncodedText": "ticketlab.resources.masked_lm",
    "english_stop_words": "ticketlab.resources.stop_words",
    "Example": "ticketlab.tasks.base",
    "Executor": "ticketlab.executors.base",
    "ExecutorRun": "ticketlab.executors.base",
    "fetch_neighbours": "ticketlab.attacks.components.word_swaps",
    "few_edits": "ticketlab.attacks.components.edit_distance",
    "hash_texts": "ticketlab.tasks.trained_on",
    "hookimpl": "ticketlab.core.hookspecs",
    "import_textattack": "ticketlab.resources.textattack_import",
    "Input": "ticketlab.stages.base",
    "Layer": "ticketlab.backbone.backbone",
    "Lazy": "ticketlab.core.hookspecs",
    "load_challenge_set": "ticketlab.tasks.assembly.loading",
    "load_encoder": "ticketlab.backbone.loading",
    "load_finished": "ticketlab.backbone.loading",
    "load_measured": "ticketlab.backbone.onnx_classifier",
    "load_task": "ticketlab.tasks.assembly.loading",
    "load_tokenizer": "ticketlab.backbone.loading",
    "log_likelihood": "ticketlab.losses.base",
    "Loss": "ticketlab.losses.base",
    "LossFunction": "ticketlab.training.loss_function",
    "LossOutput": "ticketlab.training.loss_function",
    "LossRun": "ticketlab.losses.base",
    "MaskedLanguageModel": "ticketlab.resources.masked_lm",
    "MaskedWeight": "ticketlab.backbone.masks",
    "MaskPredictions": "ticketlab.resources.masked_lm",
    "Matrix": "ticketlab.backbone.matrices",
    "Message": "ticketlab.executors.base",
    "Metric": "ticketlab.metrics.base",
    "Monitor": "ticketlab.stop_rules.base",
    "norms": "ticketlab.adversaries.base",
    "Objective": "ticketlab.objectives.base",
    "Observation": "ticketlab.stop_rules.base",
    "OnnxClassifier": "ticketlab.backbone.onnx_classifier",
    "Outcome": "ticketlab.executors.base",
    "plain_step": "ticketlab.adversaries.base",
    "PluginError": "ticketlab.core.errors",
    "predict": "ticketlab.training.evaluation",
    "Predictions": "ticketlab.metrics.base",
    "Pruner": "ticketlab.pruners.base",
    "ratio": "ticketlab.core.settings",
    "Receive": "ticketlab.executors.base",
    "reference": "ticketlab.core.settings",
    "resource_setting": "ticketlab.resources.settings",
    "ResourceError": "ticketlab.core.errors",
    "Resources": "ticketlab.resources.resources",
    "run_work": "ticketlab.executors.worker",
    "RunInfo": "ticketlab.core.hookspecs",
    "same_part_of_speech": "ticketlab.attacks.components.constraints",
    "Search": "ticketlab.pruners.base",
    "sentence_states": "ticketlab.training.sentence_states",
    "SentenceEncoder": "ticketlab.resources.sentence_encoder",
    "Session": "ticketlab.executors.base",
    "set_up": "ticketlab.executors.worker",
    "setting": "ticketlab.core.settings",
    "SettingError": "ticketlab.core.errors",
    "Shortcut": "ticketlab.tasks.base",
    "similar_sentence": "ticketlab.attacks.components.constraints",
    "Slices": "ticketlab.backbone.slices",
    "SplitWarning": "ticketlab.tasks.base",
    "Stage": "ticketlab.stages.base",
    "StopRule": "ticketlab.stop_rules.base",
    "structured_units": "ticketlab.pruners.base",
    "swap_by_masking": "ticketlab.attacks.components.masked_swaps",
    "swap_by_pieces": "ticketlab.attacks.components.masked_swaps",
    "swap_homoglyphs": "ticketlab.attacks.components.word_swaps",
    "swap_synonyms": "ticketlab.attacks.components.word_swaps",
    "Task": "ticketlab.tasks.base",
    "TaskData": "ticketlab.tasks.base",
    "TaskStage": "ticketlab.stages.base",
    "Ticket": "ticketlab.tickets.ticket",
    "TicketlabError": "ticketlab.core.errors",
    "tokenize": "ticketlab.training.batch",
    "TokenizedRows": "ticketlab.training.batch",
    "TrainedOn": "ticketlab.tasks.trained_on",
    "TrainingContext": "ticketlab.objectives.base",
    "TrainingLoss": "ticketlab.training.loss_function",
    "TrainingParts": "ticketlab.objectives.base",
    "TrainingPlan": "ticketlab.training.plan",
    "TrainingSession": "ticketlab.objectives.base",
    "uniform_in_ball": "ticketlab.adversaries.base",
    "UnusedSetting": "ticketlab.stages.base",
    "UsageError": "ticketlab.core.errors",
    "Victim": "ticketlab.inference.victim",
    "weight_units": "ticketlab.pruners.base",
    "WordNet": "ticketlab.resources.wordnet",
    "WordTable": "ticketlab.bias_models.words",
    "WordVectors": "ticketlab.resources.word_vectors",
    "WordVectorSource": "ticketlab.bias_models.words",
    "Work": "ticketlab.executors.base",
    "Worker": "ticketlab.executors.worker",
    "WorkResources": "ticketlab.executors.base",
    "WrappedLossFunction": "ticketlab.objectives.wrapped",
    "WrappedSession": "ticketlab.objectives.wrapped",
}

if TYPE_CHECKING:
    from ticketlab.adversaries.base import Adversary as Adversary
    from ticketlab.adversaries.base import AdversaryRun as AdversaryRun
    from ticketlab.adversaries.base import DropoutMasks as DropoutMasks
    from ticketlab.adversaries.base import ascend as ascend
    from ticketlab.adversaries.base import norms as norms
    from ticketlab.adversaries.base import plain_step as plain_step
    from ticketlab.adversaries.base import uniform_in_ball as uniform_in_ball
    from ticketlab.attacks.base import Attack as Attack
    from ticketlab.attacks.components.constraints import as_embedding as as_embedding
    from ticketlab.attacks.components.constraints import same_part_of_speech as same_part_of_speech
    from ticketlab.attacks.components.constraints import similar_sentence as similar_sentence
    from ticketlab.attacks.components.edit_distance import few_edits as few_edits
    from ticketlab.attacks.components.masked_swaps import swap_by_masking as swap_by_masking
    from ticketlab.attacks.components.masked_swaps import swap_by_pieces as swap_by_pieces
    from ticketlab.attacks.components.word_swaps import fetch_neighbours as fetch_neighbours
    from ticketlab.attacks.components.word_swaps import swap_homoglyphs as swap_homoglyphs
    from ticketlab.attacks.components.word_swaps import swap_synonyms as swap_synonyms
    from ticketlab.backbone.adapters import Adapter as Adapter
    from ticketlab.backbone.backbone import Backbone as Backbone
    from ticketlab.backbone.backbone import Layer as Layer
    from ticketlab.backbone.loading import load_encoder as load_encoder
    from ticketlab.backbone.loading import load_finished as load_finished
    from ticketlab.backbone.loading import load_tokenizer as load_tokenizer
    from ticketlab.backbone.masks import MaskedWeight as MaskedWeight
    from ticketlab.backbone.masks import attach_mask as attach_mask
    from ticketlab.backbone.masks import detach_mask as detach_mask
    from ticketlab.backbone.matrices import Matrix as Matrix
    from ticketlab.backbone.onnx_classifier import OnnxClassifier as OnnxClassifier
    from ticketlab.backbone.onnx_classifier import load_measured as load_measured
    from ticketlab.backbone.slices import Slices as Slices
    from ticketlab.bias_models.base import BiasModel as BiasModel
    from ticketlab.bias_models.words import WordTable as WordTable
    from ticketlab.bias_models.words import WordVectorSource as WordVectorSource
    from ticketlab.core.callback import Callback as Callback
    from ticketlab.core.component import Component as Component
    from ticketlab.core.errors import Damaged as Damaged
    from ticketlab.core.errors import DataError as DataError
    from ticketlab.core.errors import PluginError as PluginError
    from ticketlab.core.errors import ResourceError as ResourceError
    from ticketlab.core.errors import SettingError as SettingError
    from ticketlab.core.errors import TicketlabError as TicketlabError
    from ticketlab.core.errors import UsageError as UsageError
    from ticketlab.core.hookspecs import Lazy as Lazy
    from ticketlab.core.hookspecs import RunInfo as RunInfo
    from ticketlab.core.hookspecs import hookimpl as hookimpl
    from ticketlab.core.plugin_api import API_VERSION as API_VERSION
    from ticketlab.core.settings import component as component
    from ticketlab.core.settings import ratio as ratio
    from ticketlab.core.settings import reference as reference
    from ticketlab.core.settings import setting as setting
    from ticketlab.executors.base import Executor as Executor
    from ticketlab.executors.base import ExecutorRun as ExecutorRun
    from ticketlab.executors.base import Message as Message
    from ticketlab.executors.base import Outcome as Outcome
    from ticketlab.executors.base import Receive as Receive
    from ticketlab.executors.base import Session as Session
    from ticketlab.executors.base import Work as Work
    from ticketlab.executors.base import WorkResources as WorkResources
    from ticketlab.executors.worker import Worker as Worker
    from ticketlab.executors.worker import compute_work as compute_work
    from ticketlab.executors.worker import run_work as run_work
    from ticketlab.executors.worker import set_up as set_up
    from ticketlab.inference.random_state import derive_seed as derive_seed
    from ticketlab.inference.victim import Victim as Victim
    from ticketlab.losses.base import Loss as Loss
    from ticketlab.losses.base import LossRun as LossRun
    from ticketlab.losses.base import log_likelihood as log_likelihood
    from ticketlab.metrics.base import Metric as Metric
    from ticketlab.metrics.base import Predictions as Predictions
    from ticketlab.objectives.base import Objective as Objective
    from ticketlab.objectives.base import TrainingContext as TrainingContext
    from ticketlab.objectives.base import TrainingParts as TrainingParts
    from ticketlab.objectives.base import TrainingSession as TrainingSession
    from ticketlab.objectives.wrapped import WrappedLossFunction as WrappedLossFunction
    from ticketlab.objectives.wrapped import WrappedSession as WrappedSession
    from ticketlab.pruners.base import Pruner as Pruner
    from ticketlab.pruners.base import Search as Search
    from ticketlab.pruners.base import structured_units as structured_units
    from ticketlab.pruners.base import weight_units as weight_units
    from ticketlab.resources.masked_lm import EncodedText as EncodedText
    from ticketlab.resources.masked_lm import MaskedLanguageModel as MaskedLanguageModel
    from ticketlab.resources.masked_lm import MaskPredictions as MaskPredictions
    from ticketlab.resources.resources import Resources as Resources
    from ticketlab.resources.sentence_encoder import SentenceEncoder as SentenceEncoder
    from ticketlab.resources.settings import resource_setting as resource_setting
    from ticketlab.resources.stop_words import english_stop_words as english_stop_words
    from ticketlab.resources.textattack_import import import_textattack as import_textattack
    from ticketlab.resources.word_vectors import WordVectors as WordVectors
    from ticketlab.resources.wordnet import WordNet as WordNet
    from ticketlab.stages.base import Context as Context
    from ticketlab.stages.base import Input as Input
    from ticketlab.stages.base import Stage as Stage
    from ticketlab.stages.base import TaskStage as TaskStage
    from ticketlab.stages.base import UnusedSetting as UnusedSetting
    from ticketlab.stop_rules.base import Monitor as Monitor
    from ticketlab.stop_rules.base import Observation as Observation
    from ticketlab.stop_rules.base import StopRule as StopRule
    from ticketlab.tasks.assembly.loading import load_challenge_set as load_challenge_set
    from ticketlab.tasks.assembly.loading import load_task as load_task
    from ticketlab.tasks.base import Example as Example
    from ticketlab.tasks.base import Shortcut as Shortcut
    from ticketlab.tasks.base import SplitWarning as SplitWarning
    from ticketlab.tasks.base import Task as Task
    from ticketlab.tasks.base import TaskData as TaskData
    from ticketlab.tasks.trained_on import TrainedOn as TrainedOn
    from ticketlab.tasks.trained_on import hash_texts as hash_texts
    from ticketlab.tickets.draw import draw as draw
    from ticketlab.tickets.ticket import Ticket as Ticket
    from ticketlab.training.batch import Batch as Batch
    from ticketlab.training.batch import TokenizedRows as TokenizedRows
    from ticketlab.training.batch import tokenize as tokenize
    from ticketlab.training.batch_part import drawn_for_batch as drawn_for_batch
    from ticketlab.training.evaluation import predict as predict
    from ticketlab.training.loss_function import LossFunction as LossFunction
    from ticketlab.training.loss_function import LossOutput as LossOutput
    from ticketlab.training.loss_function import TrainingLoss as TrainingLoss
    from ticketlab.training.plan import TrainingPlan as TrainingPlan
    from ticketlab.training.sentence_states import sentence_states as sentence_states

__all__ = [*sorted(_EXPORTS)]
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
