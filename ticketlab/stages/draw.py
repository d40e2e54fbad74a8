"""draw: turn the scores of a search into a ticket of exactly the requested sparsity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import evolve, frozen

from ticketlab.backbone import loading
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.classifier_head import load_head
from ticketlab.backbone.masks import expand
from ticketlab.core.errors import SettingError, UsageError
from ticketlab.core.references import split_checkpoint, stage_of
from ticketlab.core.settings import ratio, reference, setting
from ticketlab.lab import integrity
from ticketlab.lab.layout import HEAD, RESULT, SCORES, TICKET, TICKETS, scores_file
from ticketlab.stages.base import Context, Stage, UnusedSetting
from ticketlab.stages.search import SearchStage
from ticketlab.stages.search_settings import GROUPS
from ticketlab.stages.search_snapshots import ended_before
from ticketlab.tickets.draw import SCOPES, Scope, draw, draw_like, for_groups
from ticketlab.tickets.scores import load_scores
from ticketlab.tickets.ticket import HEADS_PER_LAYER, Ticket


@frozen
class Draw(Stage):
    """Remove the units with the lowest scores. Writes ``ticket.safetensors``.

    The ticket includes the classifier that a search saves with its scores, if any.
    """

    name: ClassVar[str] = "draw"
    summary: ClassVar[str] = "draw a ticket from the scores of a search"
    seeded: ClassVar[bool] = False
    copied_output: ClassVar[tuple[str, str] | None] = (TICKET, TICKETS)

    search: str = reference(
        "search",
        accepts=("search",),
        checkpoints_of=("search",),
        help="the search whose scores are ranked, at its end or at a step: `search@500`, `search@55%`",
    )
    sparsity: float = ratio(0.3, help="fraction of the units to remove: of the weights, or of the heads and of the neurons")
    heads: float | None = ratio(None, help="fraction of the heads to remove; none: as `sparsity`")
    neurons: float | None = ratio(None, help="fraction of the neurons to remove; none: as `sparsity`")
    scope: Scope | None = setting(
        None,
        choices=SCOPES,
        help="rank all units of a group together, or each matrix (or layer) separately; none: as the search ranks them, else global",
    )
    heads_scope: Scope | None = setting(None, choices=SCOPES, help="`scope` for heads only; none: as `scope`")
    neurons_scope: Scope | None = setting(None, choices=SCOPES, help="`scope` for neurons only; none: as `scope`")
    keep_a_head: bool = setting(True, help="keep at least the best head of each layer; the number of removed heads stays the same")
    like: str | None = reference(
        None,
        accepts=("draw",),
        help="remove as many units of each matrix as another ticket does: a draw stage, a ticket file, or a run, whose ticket for the "
        "same task and seed is used (`{task}` and `{seed}` in a path are replaced by them)",
    )

    @property
    def uses_task(self) -> bool:
        """False: it depends on the task only through the scores."""
        return False

    @property
    def needs_model(self) -> bool:
        """True: the units and the weights of the model belong to the ticket."""
        return True

    def unused(self) -> dict[str, UnusedSetting]:
        """Return the settings that `like` replaces; see :meth:`Stage.unused`."""
        decided = ("sparsity", "heads", "neurons", "scope", "heads_scope", "neurons_scope", "keep_a_head")
        return (
            {}
            if self.like is None
            else dict.fromkeys(decided, UnusedSetting(f"as many units of each matrix are removed as by `{self.like}`"))
        )

    def ineffective(self, stages: Mapping[str, Stage]) -> dict[str, UnusedSetting]:
        """Return :meth:`unused`, and settings for units that do not exist or have their own setting; see :meth:`Stage.ineffective`."""
        found = self.unused()
        search = stages.get(stage_of(self.search))
        groups = set(search.pruner.groups()) if isinstance(search, SearchStage) else set()
        other = stages.get(self.like or "")
        if isinstance(other, Draw) and found:
            same = [name for name in found if getattr(other, name) == getattr(self, name)]
            found |= {name: evolve(found[name], harmless=True) for name in same}  # it describes the other ticket
        if not found and groups == {"heads", "neurons"}:
            found |= {
                whole: UnusedSetting(f"heads and neurons have their own (`{heads}`, `{neurons}`)")
                for whole, heads, neurons in (("sparsity", "heads", "neurons"), ("scope", "heads_scope", "neurons_scope"))
                if getattr(self, heads) is not None and getattr(self, neurons) is not None
            }
        if groups and "heads" not in groups:
            found.setdefault("keep_a_head", UnusedSetting(f"the search `{self.search}` scores no heads"))
        return found

    def sparsity_of(self, group: str) -> float:
        """Return the sparsity of a group of units: its own if it has one, else the common one."""
        own: float | None = getattr(self, group, None)
        return self.sparsity if own is None else own

    def caveats(self, stages: Mapping[str, Stage]) -> list[str]:
        """Warn if the stop rule of the search compared masks at sparsities other than these; see :meth:`Stage.caveats`.

        A search on plain text or on its own task is exempt: draws of all tasks share it, whatever their sparsities.
        """
        search = stages.get(stage_of(self.search))
        shared = isinstance(search, SearchStage) and (search.own_task is not None or not search.uses_task)
        if not isinstance(search, SearchStage) or shared or not search.pruner.searches or self.like is not None:
            return []
        found = []
        for group in search.pruner.groups():
            removed, watched = self.sparsity_of(group), getattr(search.stop, group, None)
            if watched is not None and watched != removed:
                found.append(
                    f"{removed:.3g} of the {group} are removed, and the stop rule of `{self.search}` compared masks without "
                    f"{watched:.3g} of them (--set {self.search}.stop.{group}={removed:.3g})"
                )
        return found

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse settings for units that the search does not score; see :meth:`Stage.check`."""
        search = named.get("search")
        if not isinstance(search, SearchStage):
            return
        self._check_step(search)
        self._check_aim(search)
        scored = search.pruner.groups()
        if self.like is None and self.keep_a_head and "heads" in scored and self.sparsity_of("heads") == 1:
            raise SettingError("heads: all are to be removed, but each layer keeps one (keep_a_head)")
        for name in ("heads", "heads_scope", "neurons", "neurons_scope"):
            if scored and name.partition("_")[0] not in scored and getattr(self, name) is not None:
                whole = "scope" if name.endswith("_scope") else "sparsity"
                raise SettingError(
                    f"{name}: the search `{self.search}` scores {' and '.join(scored)} and no {name.partition('_')[0]}; "
                    f"choose another pruner, or one {whole} for all units (--{whole})"
                )

    def _check_step(self, search: SearchStage) -> None:
        """Refuse scores at a step of a search that has no steps, or trains the weights that its tickets belong to.

        :raises SettingError: it has none, or trains them.
        """
        name, at = split_checkpoint(self.search)
        pruner = search.pruner
        if at and not pruner.searches:
            raise SettingError(f"search: `{pruner.name}` scores without training, so `{name}` has no step {at}; write `{name}`")
        if at and pruner.leaves_model and pruner.trains_weights:
            raise SettingError(
                f"search: `{pruner.name}` trains the weights that its scores belong to, and those of `{name}` at {at} are not kept; write "
                f"`{name}`, or set fewer {name}.epochs"
            )

    def _check_aim(self, search: SearchStage) -> None:
        """Refuse a sparsity or scope that differs from the target of the search.

        :raises SettingError: it differs.
        """
        pruner = search.pruner
        for group in pruner.groups() or GROUPS:
            drawn, aim = self.sparsity_of(group), search.sparsity_of(group)
            if self.like is None and (pruner.needs_sparsity or pruner.leaves_model) and drawn != aim:
                own = getattr(self, group, None) is not None or getattr(search, group, None) is not None
                name = group if own else "sparsity"
                raise SettingError(
                    f"{name}: the search `{self.search}` with `{pruner.name}` targets {aim:g}, so its tickets cannot be drawn at "
                    f"{drawn:g}; set both to the same value (--{name} does)"
                )
        ranked = [name for name in ("heads_scope", "neurons_scope") if getattr(self, name) is not None]
        ranked += [] if self.keep_a_head else ["keep_a_head"]
        if pruner.leaves_model and ranked:
            raise SettingError(
                f"{ranked[0]}: the search `{self.search}` with `{pruner.name}` produces a model with the units that it has ranked itself; "
                "unset this"
            )
        if self.scope is not None and pruner.ranks() not in (None, self.scope):
            raise SettingError(
                f"scope: `{pruner.name}` ranks units as `{pruner.ranks()}` during the search `{self.search}`; unset this, or set both "
                "(--scope does)"
            )

    def run(self, context: Context) -> dict[str, Any]:
        """Draw; see :meth:`Stage.run`."""
        search = context.inputs["search"]
        found = integrity.read_result(search.file(RESULT)).get("search") if search.is_stage else None
        if found is None:
            raise UsageError(f"search: {search.location} is not the folder of a finished search stage")
        if search.at and (ended := ended_before(search.at, found)):
            raise UsageError(
                f"search: there are no scores at `{self.search}`: {ended}; draw at an earlier step, or choose another stop rule"
            )
        scores = load_scores(search.file(scores_file(search.at)))
        pretrained = loading.load_encoder(context.model, context.warn_of_input)
        backbone = Backbone(pretrained)
        scope: Scope = self.scope or found.get("scope") or "global"
        requested = for_groups(scores, self.sparsity, heads=self.heads, neurons=self.neurons)
        if "like" in context.inputs:
            other = Ticket.load(context.inputs["like"].file(TICKET))
            if other.structure != found["structure"]:
                context.warn(f"the ticket {self.like} (`like`) is for a model of another structure; only its counts are used")
            outside = other.masks.keys() - scores.keys() - backbone.units().keys()  # a pooler or classifier without scores
            masks = draw_like(scores, {name: mask for name, mask in other.masks.items() if name not in outside})
        else:
            scopes = for_groups(scores, scope, heads=self.heads_scope, neurons=self.neurons_scope)
            masks = draw(scores, requested, scopes, self.keep_a_head)
        head, labels = load_head(search.file(SCORES).parent / HEAD)
        learnt_on = {name: found[name] for name in ("objective", "task", "task_fingerprint", "text_fingerprint") if name in found}
        own = {"sparsity": requested, "scope": scope} if self.like is None else {"sparsity": None, "scope": None}
        at = {"at": search.at} if search.at else {}
        provenance = {"pruner": found["pruner"], **own, "like": self.like, **learnt_on, **at, HEADS_PER_LAYER: backbone.num_heads}
        ticket = Ticket(
            masks=masks,
            structure=found["structure"],
            found_on=found["found_on"],
            rewind_to=backbone.weights_hash(),
            provenance={**provenance, "key": context.key},
            head=head,
            labels=labels,
        )
        path = context.directory / TICKET
        ticket.save(path)
        learnt = search.trained_on()
        if learnt is not None:
            learnt.save(context.directory)
        removed = sum(int((~kept).sum()) for kept in expand(backbone, ticket.masks_on(backbone)).values())
        return {
            "ticket": {
                "groups": {
                    group: {
                        "asked": None if self.like else requested[group],
                        "achieved": ticket.sparsity(group),
                        "units": ticket.total(group),
                        "kept": ticket.kept(group),
                    }
                    for group in ticket.groups
                },
                "achieved": ticket.sparsity(),
                "units": ticket.total(),
                "kept": ticket.kept(),
                "parameters": sum(parameter.numel() for parameter in pretrained.parameters()) - removed,
                "bytes": path.stat().st_size,
            }
        }
