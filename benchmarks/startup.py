"""The start-up time of the command line: in seconds, and as a multiple of the time to start Python.

python benchmarks/startup.py [--repeats 9]
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "--help": ["ticketlab", "--help"],
    "run --help": ["ticketlab", "run", "--help"],
    "plugins": ["ticketlab", "plugins"],
    "recipes": ["ticketlab", "recipes"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    if shutil.which("ticketlab") is None:
        parser.error("ticketlab is not on the PATH")
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repeats + 1):  # interleaved; the first round warms the disk's cache
        for name, command in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    print(json.dumps({"seconds": medians, "of python": {name: value / medians["python"] for name, value in medians.items()}}, indent=2))


if __name__ == "__main__":
    main()
