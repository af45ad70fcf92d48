"""Milliseconds of CPU that the compiler takes: `check` of each program, and of each small text of the fuzzer's corpus.

A figure is the median of the runs of one `rlflow check`, program start included. The bench fails where a text of at most
4 KiB takes more than 25 ms beyond the start, or a program of the project more than 50 ms.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys

import results_file

ROOT = results_file.ROOT
PROGRAM = os.path.join(ROOT, "build/rlflow")
SMALL = 4096  # bytes
LIMIT_SMALL = 25.0  # ms beyond the start
LIMIT_PROGRAM = 50.0  # ms, the start included


def cpu_milliseconds(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def files_below(*folders):
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(names):
                yield os.path.relpath(os.path.join(path, name), ROOT)


def row(name, runs, limit, conditions):
    return {"name": name, "value": statistics.median(runs), "unit": "ms CPU", "better": "lower", "runs": runs,
            "peer": None, "ratio": None, "limit": limit, "share": None, "conditions": conditions}


def slowest_text(paths, runs, start):
    """The path and the times beyond the start of the text that takes longest; only suspects are measured again."""
    once = sorted(((cpu_milliseconds(["check", "-q", path]), path) for path in paths), reverse=True)
    again = [(path, [max(0.0, cpu_milliseconds(["check", "-q", path]) - start) for _ in range(runs)])
             for _, path in once[:5]]
    return max(again, key=lambda pair: statistics.median(pair[1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    a = parser.parse_args()
    starts = [cpu_milliseconds(["--version"]) for _ in range(a.runs)]
    start = statistics.median(starts)
    rows = [row("start", starts, 30.0, "rlflow --version")]
    for path in (path for path in files_below("pipelines") if path.endswith(".rlflow")):
        runs = [cpu_milliseconds(["check", "-q", path]) for _ in range(a.runs)]
        rows.append(row(f"check {os.path.basename(path)}", runs, LIMIT_PROGRAM, "start included"))
    texts = [path for path in files_below("tests/fuzz/corpus", "tests/fuzz/found", "tests/compiler/cases")
             if os.path.getsize(os.path.join(ROOT, path)) <= SMALL]
    path, runs = slowest_text(texts, a.runs, start)
    rows.append(row("slowest small text", runs, LIMIT_SMALL, f"{path}; beyond the start; of {len(texts)} texts"))
    out = results_file.write("compile_check", rows)
    failed = False
    for r in rows:
        beyond = r["value"] > r["limit"]
        failed = failed or beyond
        print(f"{r['name']:28} {r['value']:6.1f} ms CPU, limit {r['limit']:.0f}{'  TOO SLOW' if beyond else ''}  ({r['conditions']})")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
