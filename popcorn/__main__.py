"""`python -m popcorn`: the same as the command `popcorn`."""

from popcorn.cli.main import run

if __name__ == "__main__":
    run()
