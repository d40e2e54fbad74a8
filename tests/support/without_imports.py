"""The command line without libraries that take long to import: importing one of them fails."""

from __future__ import annotations

HEAVY = ("torch", "textattack", "transformers", "datasets", "sklearn")
RUN = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
sys.argv[1:] = sys.argv[2:]
from ticketlab.cli.main import main
main()
"""
