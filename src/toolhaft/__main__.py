"""`python -m toolhaft`: the command line without its script."""

from toolhaft.cli import main

if __name__ == "__main__":
    main()
