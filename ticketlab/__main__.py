"""The command line: ``ticketlab``, or ``python -m ticketlab``."""

from ticketlab.cli import signals


def main() -> None:
    """Run the command line. Signals are handled before anything that takes time is imported."""
    signals.install()
    from ticketlab.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
