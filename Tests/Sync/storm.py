#!/usr/bin/env python3
"""A storm: three gateways of two users and writers of SQL over one upstream, in random order, with everything that
can go wrong; then all heals, and all must agree.

    Tests/Sync/storm.py [--seeds 200] [--from 0] [--steps 60] [--jobs 2] [--gateway PATH] [--verbose]

For each seed, after the last step and once every outbox is empty:
  one truth     each gateway shows exactly the rows its user may see upstream under its buckets
  acknowledged  every write that was answered landed upstream exactly once, or a rejection of its device names it
  no return     no push brings a deleted row back
  sums          what increments added upstream is what was acknowledged and not refused
  whole         each SQLite file passes its integrity check, and holds no leftover of what was pending
A seed gives the same steps again; how requests interleave within one may differ.
`--from SEED --seeds 1 --verbose` shows one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import queue
import sys
import time
import traceback

import seed_paths  # noqa: F401
import storm_steps
from gateway import executable
from postgres import Postgres
from storm_world import Storm

SHOWN = 12


def play(postgres: Postgres, seed: int, options: argparse.Namespace) -> list[str]:
    """Runs one seed; what went wrong, and nothing else."""
    began = time.monotonic()
    storm = Storm(postgres, seed, options.gateway, options.verbose)
    try:
        found = weather(storm, options.steps)
    except Exception as error:
        found = [f"{type(error).__name__}: {error}", traceback.format_exc(limit=-4)]
        found += [f"{member.name}: {member.gateway.stderr()[-500:]}" for member in storm.members
                  if member.gateway.process and member.gateway.process.poll() is not None]
    finally:
        storm.close()
    if options.verbose:
        print(f"  {time.monotonic() - began:.1f} s", flush=True)
    steps = [] if options.verbose or not found else [f"  {line}" for line in storm.log]
    return found[:SHOWN] + ([f"… and {len(found) - SHOWN} more"] if len(found) > SHOWN else []) + steps


def weather(storm: Storm, steps: int) -> list[str]:
    storm.open()
    storm.say(f"{'by hand' if storm.manual else 'by themselves'}, pages of "
              f"{[member.gateway.config['sync']['page_limit'] for member in storm.members]}")
    for _ in range(steps):
        storm_steps.take(storm)
    storm.heal()
    return storm.problems()


def work(options: argparse.Namespace, seeds: multiprocessing.Queue, results: multiprocessing.Queue) -> None:
    """One job: a server of its own, and seeds until there are none."""
    with Postgres() as postgres:
        while True:
            try:
                seed = seeds.get(timeout=1)
            except queue.Empty:
                return
            results.put((seed, play(postgres, seed, options)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--gateway", help="the executable (default: the newest build)")
    parser.add_argument("--verbose", action="store_true", help="print every step")
    options = parser.parse_args()
    options.gateway = executable(options.gateway)
    seeds: multiprocessing.Queue = multiprocessing.Queue()
    results: multiprocessing.Queue = multiprocessing.Queue()
    for seed in range(options.first, options.first + options.seeds):
        seeds.put(seed)
    jobs = [multiprocessing.Process(target=work, args=(options, seeds, results))
            for _ in range(min(options.jobs, options.seeds))]
    for job in jobs:
        job.start()
    failed = report(options, jobs, results)
    for job in jobs:
        job.join(60)
    print(f"{options.seeds - failed} passed, {failed} failed")
    return 1 if failed else 0


def report(options: argparse.Namespace, jobs: list, results: multiprocessing.Queue) -> int:
    """Prints failures as they come; a seed whose job died counts as failed."""
    failed = missing = 0
    for number in range(options.seeds):
        while True:
            try:
                seed, found = results.get(timeout=5)
                break
            except queue.Empty:
                if not any(job.is_alive() for job in jobs):
                    missing = options.seeds - number
                    print(f"{missing} seeds were not played: their job died")
                    return failed + missing
        if found:
            failed += 1
            print(f"FAIL  seed {seed} (--from {seed} --seeds 1 --steps {options.steps} --verbose)")
            print("\n".join(f"      {line}" for text in found for line in text.splitlines()), flush=True)
        elif (number + 1) % 20 == 0:
            print(f"{number + 1} of {options.seeds} seeds", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
