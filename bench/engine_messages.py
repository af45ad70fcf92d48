"""Nanoseconds of a message in the engine's executor beside a hand-written oneTBB graph, and what a run adds to 100 ms.

A message goes from the serial node that decides to one that executes and back, both without work. The overhead is that
of a whole run with its store on this disk, eight tasks a step, of which the update works for 100 ms on every core.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import results_file

PROGRAM = os.path.join(results_file.ROOT, "build/bench/programs/engine_messages")


def measured(*arguments):
    return json.loads(subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True).stdout)


def messages(width, rounds, count):
    found = [measured("messages", count, width) for _ in range(rounds)]
    ours = [one["executor_ns"] for one in found]
    raw = [one["raw_ns"] for one in found]
    value, peer = statistics.median(ours), statistics.median(raw)
    schedule = [one["schedule_ns"] for one in found]
    print(f"width {width}: executor {value:.0f} ns, raw oneTBB {peer:.0f} ns a message ({value / peer:.2f} x); "
          f"schedule {statistics.median(schedule):.0f} ns a task", file=sys.stderr)
    return [{"name": f"message_width_{width}", "value": value, "unit": "ns", "better": "lower", "runs": ours,
             "peer": {"name": "raw oneTBB", "value": peer, "runs": raw}, "ratio": peer / value, "limit": None,
             "share": None, "conditions": f"{count} messages, {width} at once, no work"},
            {"name": "schedule", "value": statistics.median(schedule), "unit": "ns", "better": "lower", "runs": schedule,
             "peer": None, "ratio": None, "limit": None, "share": None, "conditions": "a task of an eight-node flow"}]


def overhead(rounds, steps):
    threads = os.cpu_count()
    shares = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            found = measured("overhead", os.path.join(folder, "run"), steps, threads)
        shares.append(100 * (found["step_ms"] / found["work_ms"] - 1))
    value = statistics.median(shares)
    print(f"recording and scheduling add {value:.2f} % to a step of 100 ms", file=sys.stderr)
    return {"name": "overhead_of_100_ms", "value": value, "unit": "%", "better": "lower", "runs": shares, "peer": None,
            "ratio": None, "limit": None, "share": None,
            "conditions": f"8 tasks a step, work on {threads} threads, {steps} steps, store on disk"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=300_000)
    parser.add_argument("--steps", type=int, default=60)
    a = parser.parse_args()
    rows = messages(1, a.rounds, a.messages)[:1] + messages(8, a.rounds, a.messages)
    rows.append(overhead(a.rounds, a.steps))
    print(results_file.write("engine_messages", rows))


if __name__ == "__main__":
    main()
