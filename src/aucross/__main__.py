"""``python -m aucross``: the same as the command ``aucross``."""

from aucross.cli import main

if __name__ == "__main__":
    main()
