"""The command line: `python -m flashloom run demo oltp`."""

import sys

from flashloom import _native


def main() -> None:
    """Runs the command line of this process and ends it with the command's exit code."""
    sys.exit(_native.command(["flashloom", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
