"""The files of a model folder, checked before transformers reads them: weights that are missing, damaged or in another format.

For a folder that is not a model, it explains what the folder is and what to do.
"""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open

from ticketlab.backbone.model_config import LFS, read_json
from ticketlab.core.errors import UsageError
from ticketlab.lab import layout

WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"
TO_SAFETENSORS = f"and its `save_pretrained` writes {WEIGHTS}"
OTHERS = {
    "adapter_config.json": "it holds an adapter (LoRA), not a whole model; merge it into its base model with peft's `merge_and_unload()`, "
    + TO_SAFETENSORS,
    "*.bin": f"its weights are pickled (FILE), which could run code and is never loaded; if you trust it, load it with transformers, "
    f"{TO_SAFETENSORS}",
    "*.pt": "its weights are pickled (FILE), which could run code and is never loaded; if you trust it, load it with torch, put "
    f"the weights into a transformers model, {TO_SAFETENSORS}",
    "*.h5": f"its weights are TensorFlow's (FILE); load it with `from_tf=True` in transformers 4, {TO_SAFETENSORS}",
    "*.msgpack": f"its weights are Flax's (FILE); load it with `from_flax=True` in transformers 4, {TO_SAFETENSORS}",
    "*.onnx": "it is a model for onnxruntime (FILE), whose weights cannot be loaded; use the folder that it was exported from",
    "*.gguf": "it is a model for llama.cpp (FILE), whose weights cannot be loaded; use the folder that it was converted from",
    "*.safetensors": f"FILE is not called {WEIGHTS}; rename it if it holds a model's weights (a ticket: `ticketlab ticket apply`)",
}
"""Other files that may be in a folder, and what to do with them. The message is that of the first pattern that matches."""
OTHERS |= {"*.pth": OTHERS["*.pt"], "*.ckpt": OTHERS["*.pt"]}
QUANTISED = ("I8", "U8", "F8_E4M3", "F8_E5M2", "I32")


def explain_not_a_model(folder: Path) -> str:
    """Return what a folder without a config.json is and what to do; an empty string if that is unknown."""
    if layout.is_run(folder):
        return "it is the folder of a run without a model; use a run that evaluated one, or the `model` folder of a stage"
    if layout.is_lab(folder):
        return f"it is a lab; use one of the runs in {folder / 'runs'}"
    if (folder / layout.TICKET).is_file():
        return "it holds a ticket; `ticketlab ticket apply TICKET MODEL --out FOLDER` makes a model of it"
    if (folder / layout.SCORES).is_file():
        return "it holds the scores of a search, which left no model; draw a ticket and train it"
    inside = sorted(place.parent.name for place in folder.glob("*/config.json"))
    if inside:
        return (
            f"there is a model in its folder `{inside[0]}`" if len(inside) == 1 else f"there are models in its folders {', '.join(inside)}"
        )
    return _other_weights(folder)


def check_weights(name: str, folder: Path) -> None:
    """Check that the weights in a folder are complete safetensors files.

    :raises UsageError: a file is missing, damaged, or in a format that is not supported; the message names it.
    """
    for file in _files(name, folder):
        _check_file(name, file)


def shape_of(folder: Path, key: str) -> tuple[int, ...] | None:
    """Return the shape of an entry in a folder's weights, whether or not its name has the prefix of the base model."""
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as weights:
            for name in weights.keys():  # noqa: SIM118
                if f".{name}".endswith(f".{key}") or f".{key}".endswith(f".{name}"):
                    return tuple(weights.get_slice(name).get_shape())
    return None


def _files(name: str, folder: Path) -> list[Path]:
    """Return the files of the weights: the single file, or the shards in the index."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if not (folder / INDEX).is_file():
        raise UsageError(f"{name}: {_other_weights(folder) or f'the folder has no weights ({WEIGHTS})'}")
    places = read_json(name, folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(file, str) and Path(file).name == file for file in places.values()):
        raise UsageError(f"{name}: {INDEX} is damaged: its `weight_map` must map each weight to a file in the folder")
    shards = sorted(set(places.values()))
    missing = [shard for shard in shards if not (folder / shard).is_file()]
    if missing:
        raise UsageError(f"{name}: {len(missing)} of {len(shards)} files of its weights are missing, the first is {missing[0]}")
    return [folder / shard for shard in shards]


def _check_file(name: str, file: Path) -> None:
    with file.open("rb") as content:
        if content.read(len(LFS)) == LFS:
            raise UsageError(f"{name}: {file.name} is a Git LFS pointer, not the weights; `git lfs pull` fetches them")
    try:
        with safe_open(file, "pt") as weights:
            kinds = {key: weights.get_slice(key).get_dtype() for key in weights.keys() if key.endswith(".weight")}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as problem:
        raise UsageError(f"{name}: {file.name} is damaged or cut short ({str(problem)[:100]}); copy it again") from None
    quantised = next((key for key, kind in kinds.items() if kind in QUANTISED), None)
    if quantised is not None:
        raise UsageError(
            f"{name}: {file.name}: `{quantised}` is stored as {kinds[quantised]}: quantised weights are not "
            "supported; use the original model"
        )


def _other_weights(folder: Path) -> str:
    """Return a message about files in the folder that are not weights in safetensors; an empty string if there are none."""
    for pattern, message in OTHERS.items():
        names = sorted(file.name for file in folder.glob(pattern) if file.name != WEIGHTS)
        if names:
            return message.replace("FILE", f"`{names[0]}`")
    return ""
