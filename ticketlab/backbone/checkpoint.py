"""The files of a model folder, looked at before transformers reads them: what is no model, and weights that are not read."""

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
    "adapter_config.json": "it holds an adapter (LoRA) and no whole model; merge it into its base by `merge_and_unload()` of peft, "
    + TO_SAFETENSORS,
    "*.bin": f"its weights are pickled (FILE), which could run code and is not read; load it with transformers where you trust it, "
    f"{TO_SAFETENSORS}",
    "*.pt": "its weights are pickled (FILE), which could run code and is not read; load it with torch where you trust it, put the weights "
    f"into a model of transformers, {TO_SAFETENSORS}",
    "*.h5": f"its weights are TensorFlow's (FILE); load it with `from_tf=True` in transformers 4, {TO_SAFETENSORS}",
    "*.msgpack": f"its weights are Flax's (FILE); load it with `from_flax=True` in transformers 4, {TO_SAFETENSORS}",
    "*.onnx": "a model for onnxruntime (FILE), from which no weights are read; give the folder that it was exported from",
    "*.gguf": "a model for llama.cpp (FILE), from which no weights are read; give the folder that it was made of",
    "*.safetensors": f"FILE is not called {WEIGHTS}; rename it if it holds a model's weights (a ticket: `ticketlab ticket apply`)",
}
"""What else may lie in a folder, and what to do with it. The first that is there is said."""
OTHERS |= {"*.pth": OTHERS["*.pt"], "*.ckpt": OTHERS["*.pt"]}
QUANTISED = ("I8", "U8", "F8_E4M3", "F8_E5M2", "I32")


def not_a_model(folder: Path) -> str:
    """Say what a folder without a config.json is, as far as that is known, and what to do; empty where it is not."""
    if layout.is_run(folder):
        return "it is the folder of a run; where a model is expected, a run that evaluated one can be given, or its stage's `model` folder"
    if layout.is_lab(folder):
        return f"it is a lab; give one of the runs in {folder / 'runs'}"
    if (folder / layout.TICKET).is_file():
        return "it holds a ticket; a ticket becomes a model by `ticketlab ticket apply TICKET MODEL --out FOLDER`"
    if (folder / layout.SCORES).is_file():
        return "it holds the scores of a search, which left no model; draw a ticket and train it"
    inside = sorted(place.parent.name for place in folder.glob("*/config.json"))
    if inside:
        return (
            f"there is a model in its folder `{inside[0]}`" if len(inside) == 1 else f"there are models in its folders {', '.join(inside)}"
        )
    return _other_weights(folder)


def check_weights(name: str, folder: Path) -> None:
    """Make sure that the weights in a folder are there, and are whole files of safetensors.

    :raises UsageError: it says which file is missing, damaged, or in a format that is not read.
    """
    for file in _files(name, folder):
        _check_file(name, file)


def shape_of(folder: Path, key: str) -> tuple[int, ...] | None:
    """Return the shape in which a folder's weights hold an entry, with or without the name of the base model before it."""
    for file in folder.glob("*.safetensors"):
        with safe_open(file, "pt") as weights:
            for name in weights.keys():  # noqa: SIM118
                if f".{name}".endswith(f".{key}") or f".{key}".endswith(f".{name}"):
                    return tuple(weights.get_slice(name).get_shape())
    return None


def _files(name: str, folder: Path) -> list[Path]:
    """Return the files of the weights."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if not (folder / INDEX).is_file():
        raise UsageError(f"{name}: {_other_weights(folder) or f'the folder has no weights ({WEIGHTS})'}")
    places = read_json(name, folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(file, str) and Path(file).name == file for file in places.values()):
        raise UsageError(f"{name}: {INDEX} is damaged: its `weight_map` must say in which file of the folder each weight is")
    shards = sorted(set(places.values()))
    missing = [shard for shard in shards if not (folder / shard).is_file()]
    if missing:
        raise UsageError(f"{name}: {len(missing)} of {len(shards)} files of its weights are missing, {missing[0]} the first")
    return [folder / shard for shard in shards]


def _check_file(name: str, file: Path) -> None:
    with file.open("rb") as content:
        if content.read(len(LFS)) == LFS:
            raise UsageError(f"{name}: {file.name} is a pointer of Git LFS, not the weights; `git lfs pull` fetches them")
    try:
        with safe_open(file, "pt") as weights:
            kinds = {key: weights.get_slice(key).get_dtype() for key in weights.keys() if key.endswith(".weight")}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as problem:
        raise UsageError(f"{name}: {file.name} is damaged or cut short ({str(problem)[:100]}); copy it again") from None
    quantised = next((key for key, kind in kinds.items() if kind in QUANTISED), None)
    if quantised is not None:
        raise UsageError(
            f"{name}: {file.name}: `{quantised}` is stored as {kinds[quantised]}: quantised weights are not read; give the original model"
        )


def _other_weights(folder: Path) -> str:
    """Say what is there in place of safetensors; empty where nothing is."""
    for pattern, words in OTHERS.items():
        found = sorted(file.name for file in folder.glob(pattern) if file.name != WEIGHTS)
        if found:
            return words.replace("FILE", f"`{found[0]}`")
    return ""
