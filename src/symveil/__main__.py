"""`python -m symveil` is the command line."""

from symveil.cli.entry import main

if __name__ == "__main__":
    main()
