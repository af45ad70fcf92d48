"""Tokens a second of decoding a Llama of 70 million drawn weights (54 million in products) in f32 on two threads:
rlflow, llama.cpp and transformers in turns on this machine, at batch 1, 8 and 32.

llama.cpp needs a Python with llama-cpp-python, gguf and safetensors (PyPI): its path stands in LLAMA_CPP_PYTHON.
transformers is that of the tests' environment.
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
THREADS, BATCHES = "2", ["1", "8", "32"]
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 12,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 1536,
    "vocab_size": 32000, "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "hidden_act": "silu", "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
    "initializer_range": 0.02, "torch_dtype": "float32",
}
PROGRAM = os.path.join(ROOT, "build/bench/programs/cpu_decode")


def run(*command):
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"} if command[0] == PROGRAM else os.environ
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def peer(name):
    return os.path.join(ROOT, "bench/peers", name + ".py")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--new", type=int, default=64)
    a = parser.parse_args()
    llama_python = os.environ.get("LLAMA_CPP_PYTHON")
    if not llama_python:
        sys.exit("set LLAMA_CPP_PYTHON to a Python with llama-cpp-python, gguf and safetensors")
    subprocess.run(["ninja", "-C", os.path.join(ROOT, "build"), "cpu_decode"], check=True, stdout=subprocess.DEVNULL)
    figures = {"rlflow": [], "llama.cpp": [], "transformers": []}
    with tempfile.TemporaryDirectory() as scratch:
        shape, folder, gguf = (os.path.join(scratch, name) for name in ("shape", "model", "model.gguf"))
        os.mkdir(shape)
        with open(os.path.join(shape, "config.json"), "w") as file:
            json.dump(CONFIG, file)
        run(PROGRAM, "--draw", shape, folder)
        run(llama_python, peer("llama_cpp_decode"), "--convert", folder, gguf)
        tests_python = os.environ.get("RLFLOW_ORACLE_PYTHON", os.path.join(ROOT, ".deps/oracle/bin/python"))
        ways = {"rlflow": [PROGRAM, folder], "llama.cpp": [llama_python, peer("llama_cpp_decode"), gguf],
                "transformers": [tests_python, peer("transformers_decode"), folder]}
        for number in range(a.rounds):
            for name, command in ways.items():
                figures[name].append(json.loads(run(*command, THREADS, str(a.new), *BATCHES)))
                print(f"round {number + 1}/{a.rounds}  {name}  {figures[name][-1]}", file=sys.stderr)
    bandwidth = statistics.median(figure["bandwidth"] for figure in figures["rlflow"])
    rows = []
    for batch in BATCHES:
        runs = {name: [figure[batch] for figure in figures[name]] for name in figures}
        value = statistics.median(runs["rlflow"])
        read = 4 * (figures["rlflow"][0]["parameters"] - 32000 * 512) * value / int(batch)  # bytes of weights a second
        for name in ("llama.cpp", "transformers"):
            other = statistics.median(runs[name])
            rows.append({"name": f"decode_batch_{batch}", "value": value, "unit": "tokens/s", "better": "higher",
                         "runs": runs["rlflow"], "peer": {"name": name, "value": other, "runs": runs[name]},
                         "ratio": value / other, "limit": bandwidth, "share": read / bandwidth,
                         "conditions": f"70.5M Llama f32, {a.new} new tokens, 2 threads; limit = bytes/s read by them"})
            print(f"batch {batch:>2}  rlflow {value:7.1f}  {name} {other:7.1f} tokens/s: {value / other:.2f} x")
        print(f"          weights read at {read / 1e9:.1f} GB/s of {bandwidth / 1e9:.1f} GB/s that two threads read")
    print(results_file.write("cpu_decode", rows))


if __name__ == "__main__":
    main()
