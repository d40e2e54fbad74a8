"""The command line: ``ticketlab``, or ``python -m ticketlab``."""

from ticketlab.cli import signals


def main() -> None:
    """Run the command line. Signal handlers are installed before any slow import."""
    signals.install()
    from ticketlab.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
