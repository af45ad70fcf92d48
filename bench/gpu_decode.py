"""Tokens a second of decoding the shape of Qwen2.5-0.5B on one GPU, bf16, random weights, context about 512, at batch 1,
32, 256 and 1024, beside a hand-written PyTorch decode under torch.compile and a CUDA graph in turns on the same GPU.

Needs a build with --cuda, and for the peer a Python with torch for CUDA: its path stands in TORCH_PYTHON.
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
BATCHES = ["1", "32", "256", "1024"]
PEER_BATCHES = ["1", "32", "256"]
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24,
    "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936,
    "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "hidden_act": "silu",
    "tie_word_embeddings": True, "bos_token_id": 151643, "eos_token_id": 151645, "torch_dtype": "bfloat16",
}


def run(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rows_of(ours, peer):
    bandwidth = max(ours["read"], ours["copy"])
    rows = []
    for batch in BATCHES:
        value = statistics.median(ours[batch])
        read = ours["weight_bytes"] + int(batch) * ours["context"] * ours["token_bytes"]
        limit = int(batch) * bandwidth / read
        row = {"name": f"decode_batch_{batch}", "value": value, "unit": "tokens/s", "better": "higher",
               "runs": ours[batch], "limit": {"name": "bytes of weights and of keys and values at measured bandwidth",
                                              "value": limit}, "share": value / limit,
               "conditions": f"Qwen2.5-0.5B shape, bf16, prompts of 448, 128 tokens timed, {ours['gpu']}"}
        if batch in peer:
            row["peer"] = {"name": "PyTorch, torch.compile and CUDA graph", "value": peer[batch]}
            row["ratio"] = value / peer[batch]
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", default="5")
    parser.add_argument("--program", default=os.path.join(ROOT, "build/bench/programs/gpu_decode"))
    parser.add_argument("--output", help="write the results here instead")
    a = parser.parse_args()
    peer = {}
    with tempfile.TemporaryDirectory() as scratch:
        config = os.path.join(scratch, "config.json")
        with open(config, "w") as file:
            json.dump(CONFIG, file)
        ours = run(a.program, config, a.runs, *BATCHES)
        if "TORCH_PYTHON" in os.environ:
            program = os.path.join(ROOT, "bench/peers/torch_decode.py")
            peer = run(os.environ["TORCH_PYTHON"], program, config, *PEER_BATCHES)
    rows = rows_of(ours, peer)
    for row in rows:
        against = f"  {row['ratio']:.2f} x torch.compile" if "ratio" in row else ""
        print(f"{row['name']:18} {row['value']:9.0f} tokens/s  {row['share']:.0%} of the limit{against}", file=sys.stderr)
    if a.output:
        with open(a.output, "w") as file:
            json.dump({"bench": "gpu_decode", "machine": {"gpu": ours["gpu"]}, "rows": rows}, file, indent=1)
    else:
        print(results_file.write("gpu_decode", rows))


if __name__ == "__main__":
    main()
