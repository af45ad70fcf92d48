"""GFLOP/s of a linear layer's products beside libtorch's on one thread, and tokens/s of training and decoding."""
import argparse
import json
import os
import subprocess
import sys

import results_file

PROGRAM = os.path.join(results_file.ROOT, "build/bench/programs/model_products")


def lines(*arguments):
    out = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        print(line, file=sys.stderr)
        yield json.loads(line)


def products(seconds):
    for row in lines("products", seconds):
        name = f"{row['kind']} of {row['layer']}, {row['rows']} rows".replace(" ", "_")
        yield {"name": name, "value": row["ours"], "unit": "GFLOP/s", "better": "higher", "runs": [row["ours"]],
               "peer": {"name": "libtorch", "value": row["libtorch"], "runs": [row["libtorch"]]},
               "ratio": row["ours"] / row["libtorch"], "limit": None, "share": None,
               "conditions": f"f32, one thread, best of {seconds} s"}


def passes(shape, threads):
    for row in lines("passes", shape, threads):
        batch = f", batch {row['batch']}" if "batch" in row else ""
        yield {"name": f"{row['kind']}_{shape}{batch}".replace(", batch ", "_batch_"), "value": row["tokens_per_s"],
               "unit": "tokens/s", "better": "higher", "runs": [row["tokens_per_s"]], "peer": None, "ratio": None,
               "limit": None, "share": None, "conditions": f"f32, random weights, {threads} threads{batch}"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    a = parser.parse_args()
    rows = list(products(a.seconds))
    for shape in ("62m", "smollm2"):
        rows += passes(shape, a.threads)
    print(results_file.write("model_products", rows))


if __name__ == "__main__":
    main()
