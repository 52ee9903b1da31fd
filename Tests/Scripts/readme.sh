#!/usr/bin/env bash
# Runs the commands of README.md against the demo and compares what they print. The gateway may be given.
exec python3 "$(dirname "$0")/readme.py" "$@"
