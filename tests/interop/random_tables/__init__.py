"""Random tables: Apache Hudi writes them by a plan that chance drew, then it and hudini answer the same questions.

`plan` is a plan as a value, `draw` draws them, `data` makes their rows, `player` has Apache Hudi carry them out and
`judge` asks and compares; `found` keeps the plans that showed a defect. `python -m tests.interop.random_tables` looks
for disagreements, reduces them and plays plans again.
"""

from .judge import disagreements
from .plan import Plan, Step
from .player import Player

__all__ = ["Plan", "Player", "Step", "disagreements"]
