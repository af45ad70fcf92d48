"""Training step and log-prob pass of a packed batch on a GPU: tokens/s, share of the GPU's peak, phases."""
import argparse
import json
import os
import statistics
import subprocess
import sys

import results_file

PEAK = 989e12  # dense bf16 of an H200, by its datasheet
REACHED = 790e12  # what a product of 8192 x 8192 x 8192 reaches there
BEST_PYTHON = {"0.5b": 134762}  # tokens/s of forward, backward and AdamW under torch.compile, measured on an H200


def measured(program, shape, sequences, length, micro, runs):
    command = [program, shape, str(sequences), str(length), str(micro), str(runs)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line["kind"]: line for line in map(json.loads, out.splitlines())}


def row(name, line, peak, peer, conditions):
    rates = [line["tokens"] / seconds for seconds in line["seconds"]]
    value = statistics.median(rates)
    limit = peak * line["tokens"] / line["flops"]
    return {"name": name, "value": value, "unit": "tokens/s", "better": "higher", "runs": rates,
            "peer": {"name": "torch.compile", "value": peer} if peer else None,
            "ratio": value / peer if peer else None,
            "limit": {"name": f"{peak / 1e12:.0f} TFLOP/s", "value": limit}, "share": value / limit,
            "conditions": conditions}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="0.5b", choices=["0.5b", "1.5b", "7b"])
    parser.add_argument("--sequences", type=int, default=32)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--micro", type=int, default=8192)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--program", default=os.path.join(results_file.ROOT, "build/bench/programs/gpu_update"))
    a = parser.parse_args()
    lines = measured(a.program, a.shape, a.sequences, a.length, a.micro, a.runs)
    conditions = f"bf16, random weights of Qwen2.5-{a.shape}, {a.sequences} x {a.length} tokens, micro {a.micro}"
    rows = [row(f"update_{a.shape}", lines["update"], PEAK, BEST_PYTHON.get(a.shape), conditions),
            row(f"logprob_{a.shape}", lines["logprob"], REACHED, None, conditions)]
    for phase, milliseconds in lines["phases"].items():
        if phase != "kind":
            rows.append({"name": f"phase_{a.shape}: {phase}", "value": milliseconds, "unit": "ms", "better": "lower",
                         "runs": [milliseconds], "peer": None, "ratio": None, "limit": None, "share": None,
                         "conditions": conditions + "; with marks, which cost time"})
    rows.append({"name": f"memory_{a.shape}", "value": lines["memory"]["peak_bytes"] / 1e9, "unit": "GB",
                 "better": "lower", "runs": [lines["memory"]["peak_bytes"] / 1e9], "peer": None, "ratio": None,
                 "limit": None, "share": None, "conditions": conditions})
    print(results_file.write("gpu_update", rows))
    for each in rows[:2]:
        print(f"{each['name']}: {each['value']:.0f} tokens/s, {100 * each['share']:.1f} %", file=sys.stderr)


if __name__ == "__main__":
    main()
