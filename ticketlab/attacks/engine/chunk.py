"""A chunk of an attack in a worker of an executor: the victim and the attack are loaded once, and kept for the next chunk.

The worker may be on another machine. It checks that it has the same model and the same resources, and computes on the same kind of device:
others give other records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from ticketlab.attacks.base import Attack
from ticketlab.attacks.engine.attacker import Attacker
from ticketlab.attacks.engine.chunk_work import BEGUN, FAILURE, RECORD, fingerprints, from_plain
from ticketlab.attacks.engine.failure import Failure
from ticketlab.attacks.engine.workers import attack_examples
from ticketlab.backbone import fingerprint
from ticketlab.backbone.device import pick_device
from ticketlab.backbone.onnx_classifier import load_measured
from ticketlab.core.errors import ResourceError
from ticketlab.core.settings import build_component
from ticketlab.executors.worker import Worker
from ticketlab.inference.victim import Victim
from ticketlab.lab.open_lab import open_lab
from ticketlab.resources.textattack_import import import_textattack

KEPT = "attack"
"""What the worker keeps: the description of an attack and its victim, and the attacker."""


def attack_chunk(arguments: Mapping[str, Any], worker: Worker) -> None:
    """Attack examples, and send the record of each to the driver. The function of a :class:`~ticketlab.executors.base.Work`.

    :raises ResourceError: the model or a resource is missing here, or is another one.
    """
    described = dict(arguments)
    examples = from_plain(described.pop("examples"))
    in_flight = described.pop("in_flight")
    attacker = attrs.evolve(_kept(described, worker), in_flight=in_flight)
    attacker.attack.warm(attacker.resources, [text for example in examples for text in example.texts])
    worker.say(BEGUN, None)
    rows = attacker.victim.rows_everywhere
    for found in attack_examples(attacker, examples):
        before, rows = rows, attacker.victim.rows_everywhere
        payload = {"failure" if isinstance(found, Failure) else "record": attrs.asdict(found), "rows": rows - before}
        worker.say(FAILURE if isinstance(found, Failure) else RECORD, payload)


def _kept(described: Mapping[str, Any], worker: Worker) -> Attacker:
    """Return the attacker for these arguments, which is loaded unless the last chunk had the same."""
    name = json.dumps(described, sort_keys=True)
    known, attacker = worker.kept.get(KEPT, ("", None))
    if known != name or attacker is None:
        worker.kept.pop(KEPT, None)  # frees the memory of the last victim before the next is loaded
        attacker = _load(described, worker)
        worker.kept[KEPT] = name, attacker
    loaded: Attacker = attacker
    return loaded


def _load(described: Mapping[str, Any], worker: Worker) -> Attacker:
    attack = build_component("attack", described["attack"], "attack")
    assert isinstance(attack, Attack)
    import_textattack()
    resources = attrs.evolve(attack.prepare(), precision=described["precision"])
    for name, content in fingerprints(attack, resources).items():
        if content != described["resources"].get(name):
            raise ResourceError(f"{name} ({resources.where(name)}): not the one that the attack was started with; install the same one")
    model, tokenizer, _ = load_measured(_find(described["model"], worker), _already_warned)
    model = model.to(pick_device())
    victim = Victim(model, tokenizer, described["outputs"], max_length=described["max_length"], precision=described["precision"])
    if victim.device.type != described["device"]:
        raise ResourceError(
            f"the model runs on {victim.device.type}, and where the attack was started on {described['device']}: records would differ; "
            "use machines of one kind, or set TICKETLAB_DEVICE=cpu everywhere"
        )
    columns, labels = tuple(described["columns"]), tuple(described["labels"])
    return Attacker(attack, victim, resources, columns, labels, described["seed"], described["timeout"], in_flight=1)


def _find(model: Mapping[str, str], worker: Worker) -> str:
    """Return the folder or name of the model here.

    :raises ResourceError: there is none, or it is another model.
    """
    if "stage" in model:
        lab = open_lab(worker.session.lab)
        lab.fetch(model["stage"])
        folder = lab.stage(model["stage"]) / model["folder"]
        if not folder.is_dir():
            raise ResourceError(f"{folder}: there is no model; the lab must be in the same place on all machines, or at a URL")
        return str(folder)
    place = model["place"]
    try:
        found = fingerprint.of_model(place)
    except Exception as problem:  # neither a folder here nor a model of the hub or its cache
        raise ResourceError(f"{place}: there is no such model on this machine; put it in the same place on all of them") from problem
    if found != model["fingerprint"]:
        raise ResourceError(f"{place}: on this machine it is another model; put the same one in this place on all of them")
    return place


def _already_warned(_: str) -> None:
    """Ignore a warning about the model, which the driver has printed when it loaded the same model."""
