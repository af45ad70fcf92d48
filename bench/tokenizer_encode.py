"""MB a second that a tokenizer writes as ids, beside the `tokenizers` package on one thread, in turns.

The tokenizers are trained by tests/oracle/tokenizer_parity.py, and any model folders given; the texts are Python's own
library, a file each, and a prompt of a few lines at a time. Both sides must make equally many ids.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

import results_file

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, os.path.join(results_file.ROOT, "tests/oracle"))

PROGRAM = os.path.join(results_file.ROOT, "build/bench/programs/tokenizer_encode")


def texts_of(kind):
    files = sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:60]
    whole = [file.read_text(errors="replace").replace("\0", " ") for file in files]
    if kind == "files":
        return whole
    return [text[at:at + 300] for text in whole for at in range(0, len(text), 300)]


def measure(folder, kind, rounds, scratch):
    from tokenizers import Tokenizer

    texts = texts_of(kind)
    path = os.path.join(scratch, "texts")
    pathlib.Path(path).write_bytes(b"\0".join(text.encode() for text in texts))
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    ours, theirs = [], []
    for _ in range(rounds):
        found = json.loads(subprocess.run([PROGRAM, folder, path, "1"], capture_output=True, text=True, check=True).stdout)
        ours.append(found["bytes"] / found["seconds"][0] / 1e6)
        start = time.perf_counter()
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)  # its fastest way: without offsets
        theirs.append(found["bytes"] / (time.perf_counter() - start) / 1e6)
        ids = sum(len(encoding) for encoding in encodings)
        assert ids == found["ids"], (folder, ids, found["ids"])
    value, peer = statistics.median(ours), statistics.median(theirs)
    name = os.path.basename(folder)
    print(f"{name:18} {kind:8} rlflow {value:6.1f} MB/s  tokenizers {peer:6.1f} MB/s  {value / peer:.2f} x  "
          f"(reading the folder {1000 * found['read_seconds']:.0f} ms)", file=sys.stderr)
    return {"name": f"{name}/{kind}", "value": value, "unit": "MB/s", "better": "higher", "runs": ours,
            "peer": {"name": "tokenizers, one thread", "value": peer, "runs": theirs}, "ratio": value / peer,
            "limit": None, "share": None, "conditions": f"{len(texts)} texts, {found['bytes']} bytes"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("folders", nargs="*", help="model folders, beside the trained tokenizers")
    a = parser.parse_args()
    import tokenizer_parity

    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folders = list(a.folders)
        for name, tokenizer in tokenizer_parity.families():
            if name not in ("gpt2", "llama3", "qwen2", "smollm2", "llama2"):
                continue
            tokenizer_parity.as_folder(tokenizer, pathlib.Path(scratch) / name, name)
            folders.append(os.path.join(scratch, name))
        for folder in folders:
            for kind in ("files", "prompts"):
                rows.append(measure(folder.rstrip("/"), kind, a.rounds, scratch))
    print(results_file.write("tokenizer_encode", rows))


if __name__ == "__main__":
    main()
