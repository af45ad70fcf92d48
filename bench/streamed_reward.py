"""Seconds of one tiny GRPO step whose judge has to be waited for: with `emit = group` and with `emit = batch`, in turns.

The judge is a program that takes a fixed time for each response, as one behind a network would, and uses no core for it.
A step cannot be shorter than its generation and its update; what streaming can save is the time of generation, during
which the judge would otherwise have nothing to do.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import results_file

ROOT = results_file.ROOT
WARM_UP = 3
JUDGE = """import time
from rlflow_reward import serve


def reward(prompts, completions, answer, ended, **columns):
    time.sleep({seconds} * len(completions))
    return [float(whole and text.rpartition(">")[2] == right) for text, right, whole in zip(completions, answer, ended)]


serve(reward)
"""


def project(folder, seconds):
    shutil.copytree(os.path.join(ROOT, "models"), os.path.join(folder, "models"))
    text = open(os.path.join(ROOT, "pipelines/tiny_exec_reward.rlflow")).read()
    text = text.replace("python3 pipelines/tiny_exec_reward.py", "python3 judge.py")
    text = text.replace(', examples = "pipelines/tiny_exec_reward.jsonl"', "").replace("batch = 32", "batch = 8")
    text = text.replace("every 25 steps and at start", "every 1000 steps")
    open(os.path.join(folder, "judged.rlflow"), "w").write(text)
    open(os.path.join(folder, "judge.py"), "w").write(JUDGE.format(seconds=seconds))
    open(os.path.join(folder, "rlflow.toml"), "w").close()


def one_round(folder, emit, steps, prompts, workers):
    with tempfile.TemporaryDirectory() as runs:
        command = [os.path.join(ROOT, "build/rlflow"), "run", "judged.rlflow", "--json", "--runs-dir", runs]
        for setting in (f"traj.emit={emit}", f"steps={steps}", f"batch.count={prompts}", f"r.workers={workers}"):
            command += ["-s", setting]
        out = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    events = [json.loads(line) for line in out.splitlines()]
    # The last step holds the evaluation.
    return statistics.median(event["milliseconds"] / 1000 for event in events
                             if event["event"] == "step" and WARM_UP < event["step"] < steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.002, help="of the judge, for one response")
    a = parser.parse_args()
    streamed, whole = [], []
    with tempfile.TemporaryDirectory() as folder:
        project(folder, a.seconds)
        for number in range(a.rounds):
            streamed.append(one_round(folder, "group", a.steps, a.prompts, a.workers))
            whole.append(one_round(folder, "batch", a.steps, a.prompts, a.workers))
            print(f"round {number + 1}/{a.rounds}  group {streamed[-1]:.3f} s  batch {whole[-1]:.3f} s", file=sys.stderr)
    value, peer = statistics.median(streamed), statistics.median(whole)
    row = {"name": "step_with_a_slow_judge", "value": value, "unit": "s", "better": "lower", "runs": streamed,
           "peer": {"name": "emit = batch", "value": peer, "runs": whole}, "ratio": peer / value, "limit": None,
           "share": None, "conditions": f"models/tiny, {a.prompts} x 8, max_new 34, judge {1000 * a.seconds:g} ms a "
                                        f"response, {a.workers} workers, steps {WARM_UP + 1}..{a.steps - 1}"}
    path = results_file.write("streamed_reward", [row])
    print(f"emit = group {value:.3f} s a step, emit = batch {peer:.3f} s: {peer / value:.2f} x as fast  ({path})")


if __name__ == "__main__":
    main()
