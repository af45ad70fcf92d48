"""Tasks a second that the store records, beside raw SQLite inserting the same final rows, in turns on this disk.

Eight tasks and one transaction a step, synchronous=FULL. Raw SQLite has the tables and indices without the triggers,
and inserts each final row once; the store admits, starts and finishes each task and sums its pages.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import results_file

PROGRAM = os.path.join(results_file.ROOT, "build/bench/programs/store_commits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--folder", help="where to write; the disk is what is measured")
    a = parser.parse_args()
    ours, raw = [], []
    for number in range(a.rounds):
        with tempfile.TemporaryDirectory(dir=a.folder) as folder:
            out = subprocess.run([PROGRAM, folder, str(a.steps)], capture_output=True, text=True, check=True).stdout
        found = json.loads(out)
        ours.append(found["tasks"] / found["store_seconds"])
        raw.append(found["tasks"] / found["raw_seconds"])
        print(f"round {number + 1}/{a.rounds}  store {ours[-1]:.0f}  raw SQLite {raw[-1]:.0f} tasks/s", file=sys.stderr)
    value, peer = statistics.median(ours), statistics.median(raw)
    path = results_file.write("store_commits", [
        {"name": "tasks_recorded", "value": value, "unit": "tasks/s", "better": "higher", "runs": ours,
         "peer": {"name": "raw batched SQLite", "value": peer, "runs": raw}, "ratio": value / peer, "limit": None,
         "share": None, "conditions": f"8 tasks a transaction, {a.steps} transactions, synchronous=FULL"}])
    print(f"store {value:.0f} tasks/s, raw SQLite {peer:.0f}: {100 * value / peer:.0f} %  ({path})")


if __name__ == "__main__":
    main()
