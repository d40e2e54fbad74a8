"""``python -m ticketlab``: the command line."""

from ticketlab.cli.main import main

if __name__ == "__main__":
    main()
