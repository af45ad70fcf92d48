"""CPU milliseconds (user and system) of the verbs that should start at once: the least of ten runs each."""
import os
import resource
import statistics
import subprocess
import sys

import results_file

ROOT = results_file.ROOT
PROGRAM = "pipelines/tiny_grpo.rlflow"
VERBS = {"version": ["--version"], "check": ["check", PROGRAM], "fmt": ["fmt", "--check", PROGRAM],
         "plan": ["plan", PROGRAM], "graph": ["graph", PROGRAM], "explain": ["explain", "E0301"]}


def cpu_milliseconds(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.path.join(ROOT, "build/rlflow"), *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main():
    rows = []
    for name, arguments in VERBS.items():
        runs = [cpu_milliseconds(arguments) for _ in range(10)]
        rows.append({"name": name, "value": min(runs), "unit": "ms CPU", "better": "lower", "runs": runs, "peer": None,
                     "ratio": None, "limit": {"name": "target", "value": 50.0}, "share": min(runs) / 50.0,
                     "conditions": "least of 10, warm file cache"})
        print(f"{name:8}  least {min(runs):6.1f} ms  median {statistics.median(runs):6.1f} ms")
    results_file.write("startup", rows)


if __name__ == "__main__":
    sys.exit(main())
