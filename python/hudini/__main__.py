"""`python -m hudini`: the command line."""

import sys

from hudini.cli import main

if __name__ == "__main__":
    sys.exit(main())
