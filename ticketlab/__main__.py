"""The command line: ``ticketlab``, or ``python -m ticketlab``."""

from ticketlab.cli import signals
from ticketlab.core import openmp


def main() -> None:
    """Run the command line. Signal handlers are installed before any slow import."""
    signals.install()
    openmp.let_threads_sleep()
    from ticketlab.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
