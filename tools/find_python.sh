#!/bin/sh
# Prints the command of a Python that hudini's environments can be made from: 3.10 or newer, with venv and pip.
# PySpark lags behind new Pythons, so the middle of the supported range is tried first.
for candidate in python3.12 python3.11 python3.10 python3.13 python3 python; do
    # A name on the PATH may be a shim without a Python behind it: only running it tells.
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' >/dev/null 2>&1; then
        echo "$candidate"
        exit 0
    fi
done
cat >&2 <<'HELP'
No Python 3.10 to 3.13 with the venv module was found. One of these brings it:
    apt install python3 python3-venv          (Debian, Ubuntu)
    brew install python@3.12                  (macOS)
or name one: make PYTHON=/path/to/python ...
HELP
exit 1
