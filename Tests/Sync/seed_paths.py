"""Importing this first makes the modules of the other test folders importable."""

import pathlib
import sys

for folder in ("Upstream", "Scripts"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / folder))
