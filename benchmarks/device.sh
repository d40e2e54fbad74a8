#!/usr/bin/env bash
# Checks ticketlab on the device of this machine, in less than 10 minutes on one GPU and 16 cores: training steps of every method in fp32 and
# bf16, killed and resumed trainings, attacks in two worker processes, packing, export, and stages in worker processes.
#
#     benchmarks/device.sh                           # fails if there is no GPU
#     benchmarks/device.sh --device cpu --quick      # a dry run on a CPU
#
# Each check prints a line. --json FILE writes a summary; the exit status is 1 if a check failed. Python needs ticketlab's requirements and
# pytest; what else a check needs (textattack, onnxruntime) is named where it is skipped. $PYTHON is the Python to use, python3 by default.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
exec "${PYTHON:-python3}" benchmarks/device_checks.py "$@"
