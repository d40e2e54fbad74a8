"""The entry point of the command line. Keep its imports light: they delay ``ticketlab --help``."""

from __future__ import annotations

import os

import click

from ticketlab.cli import signals, stdout
from ticketlab.cli.group import LazyGroup
from ticketlab.cli.plugin_flags import plugin_flags
from ticketlab.core import progress, ranks
from ticketlab.core.child_processes import end_with_parent
from ticketlab.core.version import __version__

ENVIRONMENT = {
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "PYTORCH_ENABLE_MPS_FALLBACK": "1",  # an operation that Apple's GPU lacks runs on the CPU
}
COMMANDS = {
    "run": ("ticketlab.cli.run:run", "find, retrain and attack a ticket, as described by a recipe"),
    "ablate": ("ticketlab.cli.ablate:ablate", "compare combinations of settings, over seeds"),
    "tune": ("ticketlab.cli.tune:tune", "search settings of a recipe on development data"),
    "demo": ("ticketlab.cli.demo:demo", "compare three models on built-in data, offline, in minutes"),
    "evaluate": ("ticketlab.cli.evaluate:evaluate", "measure the accuracy of a model"),
    "attack": ("ticketlab.cli.attack:attack", "measure the accuracy of a model under text attacks"),
    "report": ("ticketlab.cli.report:report", "show a study or runs in a table or on a page"),
    "lab": ("ticketlab.cli.lab:lab", "list, show and compare runs, and free disk space"),
    "ticket": ("ticketlab.cli.ticket:ticket", "inspect, draw, apply and export tickets"),
    "plot": ("ticketlab.cli.plot:plot", "draw a figure of a study or of runs"),
    "papers": ("ticketlab.cli.papers:papers", "list the tables and figures of the papers, or make one"),
    "recipes": ("ticketlab.cli.recipes:recipes", "list recipes, or show one"),
    "plugins": ("ticketlab.cli.plugins:plugins", "list components and where they come from"),
    "show": ("ticketlab.cli.show:show", "explain a component and its settings"),
    "new-plugin": ("ticketlab.cli.new_plugin:new_plugin", "write a package for a plugin of your own"),
    "doctor": ("ticketlab.cli.doctor:doctor", "show versions, the device and the resources of attacks"),
}


@click.group(
    cls=LazyGroup,
    targets=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Example: ticketlab run robust-ticket --task sst2 --model bert-base-uncased --sparsity 0.3 --seeds 3",
)
@click.version_option(__version__, message="ticketlab %(version)s")
@plugin_flags
def cli() -> None:
    """Find robust and unbiased lottery tickets in pre-trained language models, and measure them.

    Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 failure, 2 usage error, 3 partial success (some
    attacked examples, cells or trials failed); 130, 143 and 129 after Ctrl-C, SIGTERM and SIGHUP.
    """


def main() -> None:
    """Run the command line of this process, and exit."""
    signals.install()
    stdout.open_closed_streams()
    stdout.survive_broken_pipe()
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if ranks.follows():
        progress.silence()
    if ranks.is_supervised():
        end_with_parent()
    try:
        cli()
    finally:
        signals.exit_without_message()
