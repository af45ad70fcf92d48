"""Seconds of one tiny GRPO step: rlflow and plain PyTorch in turns on this machine.

Both start from models/tiny and do the same work (32 prompts x 8 samples, max_new 34) on two threads. A round runs each
program once; the first steps of a round warm up and are not counted; a round's figure is the median of the others.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import results_file

ROOT = results_file.ROOT
WARM_UP = 5
# Fresh memory is slow on virtual machines, so the peer keeps what it freed, as rlflow does by itself.
PEER_ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824"}


def rlflow_round(steps):
    with tempfile.TemporaryDirectory() as runs:
        command = [os.path.join(ROOT, "build/rlflow"), "run", "pipelines/tiny_grpo.rlflow", "--json", "--runs-dir", runs,
                   "-s", f"steps={steps}"]
        out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    events = [json.loads(line) for line in out.splitlines()]
    return [event["milliseconds"] / 1000 for event in events if event["event"] == "step" and event["step"] > WARM_UP]


def peer_round(steps):
    command = [sys.executable, os.path.join(ROOT, "bench/peers/plain_pytorch_grpo.py"), "--steps", str(steps)]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True,
                         env={**os.environ, **PEER_ENVIRONMENT}).stdout
    return json.loads(out)["seconds"][WARM_UP:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    a = parser.parse_args()
    ours, peers = [], []
    for number in range(a.rounds):
        ours.append(statistics.median(rlflow_round(a.steps)))
        peers.append(statistics.median(peer_round(a.steps)))
        print(f"round {number + 1}/{a.rounds}  rlflow {ours[-1]:.3f} s  plain PyTorch {peers[-1]:.3f} s", file=sys.stderr)
    value, peer = statistics.median(ours), statistics.median(peers)
    row = {"name": "grpo_step", "value": value, "unit": "s", "better": "lower", "runs": ours,
           "peer": {"name": "plain PyTorch", "value": peer, "runs": peers}, "ratio": peer / value, "limit": None,
           "share": None, "conditions": f"models/tiny, 32 x 8, max_new 34, steps {WARM_UP + 1}..{a.steps}, 2 threads"}
    path = results_file.write("cpu_grpo_step", [row])
    print(f"rlflow {value:.3f} s a step, plain PyTorch {peer:.3f} s: {peer / value:.2f} x as fast  ({path})")


if __name__ == "__main__":
    main()
