"""Runs a command that says one line of JSON, and says it again with the command's peak memory in it.

A process starts with the peak of the one that made it, so who measures must be small: `small_parent.py COMMAND …`.
"""

import json
import os
import subprocess
import sys

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
said = process.stdout.read()
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
if status:
    sys.exit(1)
print(json.dumps({**json.loads(said), "mib": usage.ru_maxrss / 1024}))
