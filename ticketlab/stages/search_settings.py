"""The settings of a search, and which of them have an effect."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from ticketlab.core.errors import SettingError
from ticketlab.core.references import stage_of
from ticketlab.core.setting_values import settings_of
from ticketlab.core.settings import component, ratio, reference, setting
from ticketlab.pruners.base import Pruner
from ticketlab.pruners.hard_concrete import HardConcretePruner
from ticketlab.stages.base import PRETRAINED, Stage, UnusedSetting
from ticketlab.stages.search_snapshots import KEPT_MASKS, KeptMasks
from ticketlab.stages.training_stage import Training
from ticketlab.stop_rules.base import StopRule
from ticketlab.stop_rules.mask_distance import MaskDistance
from ticketlab.stop_rules.none import Never

OF_BATCHES = ("loss", "bias", "teacher", "teacher_labels", "adversary", "augment", "mix_ood", "batch_size", "accumulate")
"""The settings that the loss of a batch depends on, in addition to the model and the task."""
GROUPS = ("heads", "neurons", "weights")


@frozen
class SearchSettings(Training):
    """The settings of a search."""

    start: str = reference(
        PRETRAINED,
        accepts=("train",),
        help="the model to search in: `pretrained`, a train stage (`finetune@500` is a checkpoint), or a model folder",
    )
    pruner: Pruner = component("pruner", "hard-concrete", help="how units are scored")
    stop: StopRule = component("stop rule", "none", help="when to end before the last epoch")
    epochs: float = setting(20.0, above=0, unit="epochs", help="passes over the training examples, at most")
    weight_decay: float = setting(1e-6, at_least=0, help="AdamW's weight decay on what is trained")
    clip_penalty: bool = setting(
        True,
        help="clip the gradient of the pruner's penalty together with that of the loss; false adds it after clipping, as RobusT's "
        "published code does",
    )
    sparsity: float = ratio(0.3, help="sparsity of the tickets that are evaluated, and the target of pruners that have a target sparsity")
    heads: float | None = ratio(None, added_later=True, help="`sparsity` for heads only; none: as `sparsity`")
    neurons: float | None = ratio(None, added_later=True, help="`sparsity` for neurons only; none: as `sparsity`")
    keep_masks: KeptMasks | None = setting(
        None,
        choices=KEPT_MASKS,
        added_later=True,
        help="also keep the mask that would be drawn at the end of each mini-epoch of the stop rule (`looks`) or at each evaluation: "
        "at the sparsities that `mask-distance` compares, else at `sparsity`; none: keep no masks",
    )

    @property
    def selects_on_dev(self) -> bool:
        """Whether development scores decide what is kept, or when the search ends."""
        return super().selects_on_dev or self.stop.judges

    def unused(self) -> dict[str, UnusedSetting]:
        """Return the settings that the pruner does not use: all but start, pruner and objective if it does not train."""
        name = self.pruner.name
        if not self.pruner.searches:
            return self._unused_without_training()
        found = super().unused()
        draws_masks = self.keep_masks is not None and not isinstance(self.stop, MaskDistance)
        if not (self.pruner.needs_sparsity or self.select == "best" or self.stop.judges or draws_masks):
            untargeted = UnusedSetting(f"`{name}` has no target sparsity, and no selection evaluates tickets; set the sparsity of the draw")
            found |= dict.fromkeys(("sparsity", "heads", "neurons"), untargeted)
        found |= {f"pruner.{setting}": UnusedSetting(reason) for setting, reason in self.pruner.unused().items()}
        if not self.pruner.has_penalty:
            found["clip_penalty"] = UnusedSetting(f"`{name}` adds no penalty to the loss")
        if not any(part.learns_at_rate for part in (self.pruner, self.objective, self.loss, self.adversary)):
            found["lr"] = UnusedSetting(f"the weights are frozen, and `{name}` has its own learning rate, `pruner.lr`", harmless=True)
        if self.pruner.groups():
            of_groups = {"heads": "heads", "neurons": "neurons"}
            of_groups |= {f"stop.{field.name}": field.name.partition("_")[0] for field in settings_of(type(self.stop))}
            unscored = {path: group for path, group in of_groups.items() if group in GROUPS and group not in self.pruner.groups()}
            scored = " and ".join(self.pruner.groups())
            found |= {path: UnusedSetting(f"`{name}` scores {scored} and no {group}") for path, group in unscored.items()}
        return found

    def _unused_without_training(self) -> dict[str, UnusedSetting]:
        """Return what a pruner that takes no steps does not use. One that scores batches uses what their loss and rows depend on."""
        trains = UnusedSetting(f"`{self.pruner.name}` scores without training")
        own = {"task", "max_length", "start", "pruner", "objective"}
        own |= {field.name for field in settings_of(type(self)) if not field.metadata["identity"]}
        own |= {"sparsity"} if self.pruner.needs_sparsity else set()
        read = OF_BATCHES if self.pruner.scores_batches else ()
        found = {field.name: trains for field in settings_of(type(self)) if field.name not in own.union(read)}
        return found | {name: unused for name, unused in super().unused().items() if name in read}

    def ineffective(self, stages: Mapping[str, Stage]) -> dict[str, UnusedSetting]:
        """Return :meth:`unused`, and what no part of the search reads; see :meth:`Stage.ineffective`.

        An unused sparsity is no reason for a warning if it equals that of the draws.
        """
        found = super().ineffective(stages)
        if self.pruner.searches and isinstance(self.stop, Never) and self.keep_masks != "looks":
            found["stop.interval"] = UnusedSetting(f"the stop rule `{self.stop.name}` observes nothing")
        if isinstance(self.pruner, HardConcretePruner) and self.has_one_pass:
            found.setdefault("pruner.resample", UnusedSetting(f"a step of the adversary `{self.adversary.name}` is a single pass"))
        own_names = {name for name, stage in stages.items() if stage is self}
        draws = [stage for stage in stages.values() if stage_of(str(getattr(stage, "search", ""))) in own_names]
        for name in ("sparsity", "heads", "neurons"):
            if name in found and {getattr(stage, name, None) for stage in draws} == {getattr(self, name)}:
                found[name] = evolve(found[name], harmless=True)
        if "sparsity" not in found and None not in (self.heads, self.neurons) and set(self.pruner.groups()) == {"heads", "neurons"}:
            found["sparsity"] = UnusedSetting("heads and neurons have their own (`heads`, `neurons`)")
        return found

    def sparsity_of(self, group: str) -> float:
        """Return the sparsity of a group of units: its own if it has one, else the common one."""
        own: float | None = getattr(self, group, None)
        return self.sparsity if own is None else own

    def caveats(self, stages: Mapping[str, Stage]) -> list[str]:
        """Warn if restarted learning rates never leave their warm-up; see :meth:`Stage.caveats`."""
        share = self.pruner.restarts_after
        if share is None or self.warmup < share:
            return []
        return [
            f"`{self.pruner.name}` restarts the learning rates after every {share:g} of the steps, and the warm-up takes "
            f"{self.warmup:g}, so they never stop rising; the published scripts have no warm-up (warmup = 0)"
        ]

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a pruner that cannot reach the sparsity; see :meth:`Stage.check`."""
        super().check(named)
        try:
            for sparsity in {self.sparsity_of(group): None for group in self.pruner.groups() or GROUPS}:
                self.pruner.check(sparsity)
        except SettingError as problem:
            raise SettingError(f"pruner.{problem}") from None
        if self.stop.draws_earlier and (self.select == "best" or self.pruner.leaves_model):
            other = f"the model that `{self.pruner.name}` produces" if self.pruner.leaves_model else '`select = "best"`'
            raise SettingError(f"stop.draw_at: the ticket comes from an earlier observation, but {other} does not; unset one of them")
