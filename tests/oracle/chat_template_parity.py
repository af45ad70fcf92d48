"""Writes what transformers' apply_chat_template makes of many conversations, for each known template.

chat_template_parity.py OUT CONVERSATIONS [FOLDER...]: a folder under OUT for each template, with a tokenizer that has its
tokens and cases.jsonl: one object a line, `messages` and the `ids` and `text` of apply_chat_template with
add_generation_prompt=True. The templates' texts are those of the package `trl` (Apache-2.0), which ships them as the
model makers published them; SmolLM2's and plain ChatML are one line each. A FOLDER is a model folder with a template.
"""
import json
import pathlib
import random
import shutil
import sys

import trl  # only its folder is read
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from tokenizer_parity import CHARACTERS, QWEN2, byte_level, bytes_after, corpus, split

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>'"
          " + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
SMOLLM2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
           "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}"
           "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
           "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
OF_TRL = {"qwen2_5": "qwen2_5", "qwen3": "qwen3", "qwen3_instruct_2507": "chatml", "llama3": "llama3",
          "llama3_1": "llama3_1", "llama3_2": "llama3_1", "gemma": "gemma", "gemma3": "gemma3"}
MARKERS = ["<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
           "<start_of_turn>", "<end_of_turn>"]


def templates():
    """Name of the folder, name of the template, text."""
    shipped = pathlib.Path(trl.__path__[0]) / "chat_templates"
    for file, name in OF_TRL.items():
        yield file, name, (shipped / (file + ".jinja")).read_text()
    yield "chatml", "chatml", CHATML
    yield "smollm2", "smollm2", SMOLLM2


def conversations(name, count):
    rng = random.Random(name)
    lines = corpus()
    edges = ["", " ", "\n\n", "\t x \u00a0", "\u2003ok\x1f", "<think>\nhm\n</think>\n\nyes", "a</think>b", "x\n\n\n",
             "<tool_response>\n4\n</tool_response>", "'s it", "  twice  ", "\ufeffbom\ufeff", "🦊👩‍💻"]

    def text():
        parts = [rng.choice(lines), rng.choice(edges), "".join(rng.choice(CHARACTERS) for _ in range(rng.randint(0, 5)))]
        return "".join(rng.choice(parts) for _ in range(rng.randint(0, 3)))

    for i in range(count):
        messages = [{"role": "system", "content": text()}] if i % 2 and name != "gemma" else []
        for _ in range(rng.randint(0, 3)):
            messages += [{"role": "user", "content": text()}, {"role": "assistant", "content": text()}]
        yield messages + [{"role": "user", "content": text()}]


def write(folder, name, tokenizer, count):
    with open(folder / "cases.jsonl", "w") as out:
        for messages in conversations(name, count):
            options = {"add_generation_prompt": True}
            if name == "llama3_1":
                options["date_string"] = "26 Jul 2024"  # its own, rather than today
            text = tokenizer.apply_chat_template(messages, tokenize=False, **options)
            ids = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True, **options)["input_ids"]
            out.write(json.dumps({"messages": messages, "text": text, "ids": ids}) + "\n")


def main():
    out, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    shutil.rmtree(out, ignore_errors=True)
    base = byte_level(1500, bytes_after(split(QWEN2)), special=MARKERS)
    for i, (file, name, text) in enumerate(templates()):
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=base, bos_token="<|bos|>", eos_token="<|eos|>")
        tokenizer.chat_template = text
        # Both places where a template may stand.
        tokenizer.save_pretrained(out / file, save_jinja_files=i % 2 == 0)
        (out / file / "name").write_text(name)
        write(out / file, name, tokenizer, count)
    for folder in map(pathlib.Path, sys.argv[3:]):
        target = out / ("given-" + folder.name)
        shutil.copytree(folder, target, ignore=lambda at, names: [n for n in names if n.endswith("tensors")])
        write(target, "given", AutoTokenizer.from_pretrained(target), count)


main()
