"""The checks of ``benchmarks/device.sh``: that every method works on the device of this machine.

``--only steps,resume`` runs some groups of checks, ``--quick`` fewer combinations of methods. A check that fails stops no other.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

ROOT = Path(__file__).parents[1]
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/src/*/__init__.py") if path.parent.name != "ticketlab_tracker")
"""The packages with methods: a tracker of runs has none."""
CLOSE = {"fp32": 2e-3, "bf16": 0.1}
"""How far a loss on the device may be from that of a CPU in fp32, relative to it. Dropout is off."""
KILLED_AFTER = ("finetune", "search")
"""The stages during which a run is killed."""


class Skipped(Exception):
    """A check that cannot be made here, with what it needs."""


@define
class Checks:
    """What the checks share: a folder, models and data, and the results so far."""

    device: str
    quick: bool
    folder: Path
    results: list[dict[str, Any]] = field(factory=list)
    workspace: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        from ticketlab.testing.trials.workspace import Workspace

        self.workspace = Workspace(self.folder / "workspace")

    def run(self, group: str, name: str, check: Callable[[], object]) -> None:
        """Make a check, and print a line."""
        started, status, message = time.perf_counter(), "ok", ""
        try:
            message = str(check() or "")
        except Skipped as reason:
            status, message = "skipped", str(reason)
        except Exception as problem:
            status, message = "FAILED", f"{type(problem).__name__}: {problem}".splitlines()[0]
        seconds = time.perf_counter() - started
        self.results.append({"group": group, "check": name, "status": status, "message": message, "seconds": round(seconds, 3)})
        sys.stdout.write(f"{status:7} {group}: {name} ({seconds:.1f} s){f': {message}' if message else ''}\n")
        sys.stdout.flush()

    def names(self, kind: str) -> list[str]:
        """Return the names of the components of a kind, built in and of the packages in plugins/."""
        from ticketlab.core import registry

        return registry.current().names(kind)

    def make(self, kind: str, name: str) -> Any:
        """Return a component with its default settings."""
        from ticketlab.core import registry

        return registry.current().get(kind, name)()

    def trial(self, **parts: Any) -> Any:
        """Return a training of a tiny model on the device."""
        from ticketlab.testing.trials.trial import Trial

        return Trial(self.workspace.model(), self.workspace.data(pairs=True), **parts)

    def recipe(self, name: str, stages: Mapping[str, Any], **more: Any) -> Any:
        """Return a recipe of a tiny model and small data."""
        from ticketlab.recipes.recipe import build_recipe
        from ticketlab.recipes.required_stages import add_required_stages

        shared = {"model": str(self.workspace.model()), "max_length": 24, "precision": "fp32", "seeds": [0]}
        return build_recipe(name, {**add_required_stages(dict(stages)), **shared, "tasks": [self.workspace.task(pairs=True)], **more})


def require(condition: bool, message: str) -> None:
    """Fail the check with a message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def combinations(checks: Checks) -> Iterator[dict[str, str]]:
    """Yield the names of an adversary, a pruner and a loss: all combinations, or with ``--quick`` each with plain others."""
    adversaries, pruners, losses = checks.names("adversary"), ["", *checks.names("pruner")], checks.names("loss")
    for adversary in adversaries:
        for pruner in pruners:
            for loss in losses:
                plain = (adversary != "none") + (pruner != "") + (loss != "cross-entropy")
                if not checks.quick or plain <= 1:
                    yield {"adversary": adversary, "pruner": pruner, "loss": loss}


def steps(checks: Checks) -> None:
    """Two optimizer steps of every adversary with every pruner and loss: the loss and what is trained stay finite."""
    import torch

    def take(names: Mapping[str, str]) -> None:
        parts = {kind: checks.make(kind, name) for kind, name in names.items() if name}
        trial = checks.trial(**parts)
        if not trial.trains:
            require(bool(trial.search.scores()), "no scores")
            return
        losses = trial.train(2)
        require(all(math.isfinite(loss) for loss in losses), f"the losses are {losses}")
        for parameter in trial.parameters():
            require(parameter.device.type == checks.device, f"a parameter is on {parameter.device}")
            require(bool(torch.isfinite(parameter).all()), "a parameter is not finite")

    for names in combinations(checks):
        checks.run("steps", " + ".join(name for name in names.values() if name), lambda names=names: take(names))


def precision(checks: Checks) -> None:
    """The first loss of each method in fp32 and bf16, without dropout, is near that of a CPU in fp32."""
    import torch

    def first_loss(names: Mapping[str, str], number_format: str) -> float:
        trial = checks.trial(**{kind: checks.make(kind, name) for kind, name in names.items()}, precision=number_format)
        for module in trial.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        return float(trial.backward(trial.batch()))

    def compare(names: Mapping[str, str], number_format: str) -> str:
        with on_cpu():
            expected = first_loss(names, "fp32")
        found = first_loss(names, number_format)
        near = math.isclose(found, expected, rel_tol=CLOSE[number_format])
        require(near, f"the loss is {found:.6g}, and {expected:.6g} on a CPU in fp32")
        return f"{found:.5g}, and {expected:.5g} on a CPU in fp32"

    for number_format in CLOSE:
        for name in ("none", "fgm"):  # what draws nothing, which would differ between devices
            checks.run("precision", f"{name} in {number_format}", lambda n=name, f=number_format: compare({"adversary": n}, f))
        for name in checks.names("loss"):
            checks.run("precision", f"{name} in {number_format}", lambda n=name, f=number_format: compare({"loss": n}, f))


@contextlib.contextmanager
def on_cpu() -> Iterator[None]:
    """Run a block as if this machine had no GPU."""
    import torch

    original = torch.cuda.is_available
    torch.cuda.is_available = lambda: False
    try:
        yield
    finally:
        torch.cuda.is_available = original


TRAININGS: dict[str, dict[str, Any]] = {
    "plain": {"kind": "train"},
    "freelb": {"kind": "train", "adversary": "freelb"},
    "pgd": {"kind": "train", "adversary": "pgd"},
    "poe": {"kind": "train", "loss": "poe"},
    "hard-concrete": {"kind": "search", "start": "pretrained", "pruner": "hard-concrete"},
    "importance": {"kind": "search", "start": "pretrained", "pruner": "importance"},
    "mask-training": {"kind": "search", "start": "pretrained", "pruner": "mask-training"},
    "imp": {"kind": "search", "start": "pretrained", "pruner": "imp"},
}


def resume(checks: Checks) -> None:
    """A training that is ended in three of its steps and resumed ends with the same bits, and so does a run that is killed."""
    from ticketlab.testing.trials.recorded_run import Runner

    def interrupt(name: str) -> None:
        training = {"epochs": 2, "batch_size": 8, "lr": 1e-3, "eval_steps": 2, "checkpoint_seconds": 0.0}
        pairs = {"bias": {"kind": "bias", "model": "overlap", "folds": 2}} if TRAININGS[name].get("loss") == "poe" else {}
        recipe = checks.recipe(name, {**pairs, "tested": {**training, **TRAININGS[name]}})
        runner = Runner(recipe, checks.workspace.root, "tested")
        whole = runner.whole(seed=1)
        differing = whole.difference(runner.whole(seed=2))
        require(not differing, f"a repeated training differs in {differing}")
        differing = whole.difference(runner.interrupted({0, whole.steps // 2, whole.steps - 1}, seed=3))
        require(not differing, f"a resumed training differs in {differing}")

    for name in list(TRAININGS)[: 2 if checks.quick else None]:
        checks.run("resume", name, lambda name=name: interrupt(name))
    checks.run("resume", "a run that is killed", lambda: _kill(checks))


def _kill(checks: Checks) -> str:
    stages = {
        "finetune": {"kind": "train", "epochs": 20, "batch_size": 8, "checkpoint_seconds": 0.0},
        "search": {"kind": "search", "start": "finetune", "epochs": 20, "batch_size": 8, "adversary": "freelb", "checkpoint_seconds": 0.0},
        "draw": {"kind": "draw", "sparsity": 0.3},
        "retrain": {"kind": "train", "ticket": "draw", "epochs": 1, "batch_size": 8},
        "evaluate": {"kind": "evaluate", "model": "retrain"},
    }
    recipe = checks.folder / "killed.toml"
    recipe.write_text(checks.recipe("killed", stages).to_toml())

    def command(lab: str) -> list[str]:
        return [sys.executable, "-m", "ticketlab", "run", str(recipe), "--lab", str(checks.folder / lab), "--json"]

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    whole = subprocess.run(command("whole"), env=environment, capture_output=True, text=True)
    require(whole.returncode == 0, whole.stderr.strip().rpartition("\n")[2])
    kills = 0
    for stage in KILLED_AFTER:
        process = subprocess.Popen(command("killed"), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not _has_checkpoint(checks.folder / "killed", stage):
            time.sleep(0.01)
        kills += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    resumed = subprocess.run(command("killed"), env=environment, capture_output=True, text=True)
    require(resumed.returncode == 0, resumed.stderr.strip().rpartition("\n")[2])
    same = without_cost(json.loads(resumed.stdout)["tasks"]) == without_cost(json.loads(whole.stdout)["tasks"])
    require(same, f"the results differ after {kills} kills")
    return f"{kills} kills"


def _has_checkpoint(lab: Path, stage: str) -> bool:
    """Return whether a stage of a run has started and has written a checkpoint."""
    log = next(lab.glob("runs/*/log.jsonl"), None)
    lines = log.read_text().splitlines() if log is not None else []
    keys = [entry["key"] for entry in map(_entry, lines) if entry.get("event") == "start" and entry.get("stage") == stage]
    return any((lab / "stages" / key[:2] / key / "checkpoint.safetensors").is_file() for key in keys)


def _entry(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:  # it is being written
        return {}


def without_cost(value: Any) -> Any:
    """Return results without what differs between computations."""
    if isinstance(value, dict):
        return {key: without_cost(item) for key, item in value.items() if key not in ("cost", "seconds") and not key.endswith("_seconds")}
    return [without_cost(item) for item in value] if isinstance(value, list) else value


def attacks(checks: Checks) -> None:
    """The records of attacks in two worker processes are those of one."""

    def compare(name: str) -> str:
        if importlib.util.find_spec("textattack") is None:
            raise Skipped("textattack is not installed")
        from ticketlab.runs.run import run

        records = []
        for workers in (1, 2):
            attack = {"kind": "attack", "model": "finetune", "attacks": [name], "examples": 12, "workers": workers}
            train = {"kind": "train", "epochs": 1, "batch_size": 8, "lr": 1e-3}
            done = run(checks.recipe("attacks", {"finetune": train, "attack": attack}), checks.folder / f"attacks-{workers}")
            key = str(done.stages()["attack"]["key"])
            folder = checks.folder / f"attacks-{workers}" / "stages" / key[:2] / key / "records"
            records.append([without_cost(json.loads(line)) for path in sorted(folder.glob("*.jsonl")) for line in path.open()])
        require(bool(records[0]), "there are no records")
        require(records[0] == records[1], "the records differ")
        return f"{len(records[0])} records"

    checks.run("attacks", "deepwordbug in two processes", lambda: compare("deepwordbug"))


def packing(checks: Checks) -> None:
    """Rows are packed on this device, and their logits are those of each row alone, bit for bit."""

    def compare(family: str, number_format: str) -> str:
        import torch

        from ticketlab.backbone.device import pick_device
        from ticketlab.backbone.loading import load_classifier
        from ticketlab.inference.victim import Victim

        model, tokenizer = load_classifier(str(checks.workspace.model(family)), ("no", "yes"), 0)
        model.to(pick_device()).eval()
        texts = [example.texts for example in checks.workspace.data(pairs=True).splits["train"]]
        victim = Victim(model, tokenizer, ("no", "yes"), max_length=24, precision=number_format)
        together, alone = victim(texts), torch.cat([victim([text]) for text in texts])
        require(torch.equal(together, alone), f"logits differ by up to {float((together - alone).abs().max()):.2g}")
        engine = victim.batch_invariant_model
        return "rows are packed" if any(engine._can_pack.values()) else "rows are not packed"

    for family in ("bert", "roberta"):
        for number_format in ("fp32", "bf16"):
            checks.run("packing", f"{family} in {number_format}", lambda f=family, n=number_format: compare(f, n))


def export(checks: Checks) -> None:
    """A model on the device with a ticket is shrunk and exported, and its logits stay the same."""

    def compare(form: str) -> str:
        import torch

        from ticketlab.backbone.backbone import Backbone
        from ticketlab.backbone.device import pick_device
        from ticketlab.backbone.loading import load_classifier, load_finished
        from ticketlab.export.model import export_model
        from ticketlab.tickets.draw import draw
        from ticketlab.tickets.ticket import Ticket

        model, tokenizer = load_classifier(str(checks.workspace.model()), ("no", "yes"), 0)
        model.to(pick_device()).eval()
        generator = torch.Generator().manual_seed(0)
        units = {name: shape for name, shape in Backbone(model).units().items() if not name.startswith("weights/")}
        masks = draw({name: torch.rand(shape, generator=generator) for name, shape in units.items()}, 0.4)
        weights = Backbone(model).weights_hash()
        ticket = Ticket(masks, Backbone(model).fingerprint(), weights, weights, {"pruner": "random"})
        masked = copy.deepcopy(model)
        ticket.apply(masked)
        rows = tokenizer(["a good film", "it was not bad at all"], padding=True, return_tensors="pt")
        with torch.inference_mode():
            expected, dense = (one(**rows.to(pick_device())).logits.float().cpu() for one in (masked, model))
        require(not torch.allclose(expected, dense, atol=1e-5), "the ticket changes nothing")
        folder = checks.folder / f"exported-{form}"
        if form.startswith("onnx") and importlib.util.find_spec("onnxruntime") is None:
            raise Skipped("onnxruntime is not installed")
        export_model(model, tokenizer, folder, form, ticket=ticket)
        if form.startswith("onnx"):
            import onnxruntime

            session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
            named = {node.name: rows[node.name].cpu().numpy() for node in session.get_inputs()}
            found = torch.from_numpy(session.run(None, named)[0])
        else:
            reloaded = load_finished(str(folder))[0].to(pick_device()).eval()
            with torch.inference_mode():
                found = reloaded(**rows.to(pick_device())).logits.float().cpu()
        furthest = float((found - expected).abs().max())
        require(furthest < (0.2 if form.endswith("int8") else 1e-3), f"logits differ by up to {furthest:.2g}")
        return f"logits differ by up to {furthest:.1g}"

    for form in ("dense", "shrunk", "onnx", "onnx-int8"):
        checks.run("export", form, lambda form=form: compare(form))


def workers(checks: Checks) -> None:
    """A study in two worker processes, each with a device of its own if there are several, has the cells of one process."""

    def compare() -> str:
        import torch

        from ticketlab.studies.read_definition import study_of
        from ticketlab.studies.study import run_study

        task = {"name": "demo", "rows": 48, "dev_rows": 8, "test_rows": 16}
        settings = {"model": str(checks.workspace.model()), "attack": "none", "max_length": 32, "precision": "fp32", "epochs": 1}
        table = {"recipes": ["robust-ticket"], "tasks": [task], "set": settings, "vary": {"pruner": ["hard-concrete", "random"]}}
        tables = []
        before = torch.get_num_threads()
        for jobs in (1, 2):
            torch.set_num_threads(jobs)  # each stage has one thread in both
            done = run_study(study_of("workers", table, scale="small"), checks.folder / f"workers-{jobs}", jobs=jobs)
            require(not done.failed, f"{done.failed} failed")
            tables.append([(cell.label, without_cost(cell.results["tasks"])) for cell in done.comparison.cells])  # type: ignore[index]
        torch.set_num_threads(before)
        require(tables[0] == tables[1], "the cells differ")
        return f"{max(1, torch.cuda.device_count())} devices"

    checks.run("workers", "a study with two stages at a time", compare)


GROUPS: Mapping[str, Callable[[Checks], None]] = {
    "steps": steps,
    "precision": precision,
    "resume": resume,
    "attacks": attacks,
    "packing": packing,
    "export": export,
    "workers": workers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="the device to check; cpu is a dry run")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"groups of checks: {', '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true", help="fewer combinations of methods")
    parser.add_argument("--json", type=Path, help="file for a summary")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := [name for name in wanted if name not in GROUPS]:
        parser.error(f"--only {unknown[0]}: choose from {', '.join(GROUPS)}")
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    from ticketlab.backbone.device import be_deterministic, pick_device
    from ticketlab.core import progress, registry

    if pick_device().type != options.device:
        parser.error(f"torch finds no {options.device} device (--device cpu makes a dry run)")
    name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    sys.stdout.write(f"{name}, torch {torch.__version__}, {len(PLUGINS)} plugins\n")
    be_deterministic()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, progress.silent():
        checks = Checks(options.device, options.quick, Path(folder))
        with registry.using(registry.load(PLUGINS, entry_points=False)), checks.workspace.copied_models():
            for group in wanted:
                GROUPS[group](checks)
    seconds = time.perf_counter() - started
    counts = {status: sum(result["status"] == status for result in checks.results) for status in ("ok", "skipped", "FAILED")}
    sys.stdout.write(f"{counts['ok']} ok, {counts['skipped']} skipped, {counts['FAILED']} failed in {seconds:.0f} s\n")
    if options.json is not None:
        summary = {"device": name, "torch": torch.__version__, "seconds": round(seconds, 1), **counts, "checks": checks.results}
        options.json.write_text(json.dumps(summary, indent=2) + "\n")
    sys.exit(1 if counts["FAILED"] else 0)


if __name__ == "__main__":
    main()
