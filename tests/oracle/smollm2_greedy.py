"""What transformers makes of five prompts to SmolLM2-135M-Instruct, for smollm2_parity_test: a JSON line a prompt.

smollm2_greedy.py FOLDER OUT COUNT   the model's folder; the file to write; tokens of each answer
"""
import json
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from family_models import greedy

PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Once upon a time, in a village by the sea,",
    [{"role": "user", "content": "What is 17 + 25? Answer with the number."}],
    [{"role": "system", "content": "You answer in one sentence."},
     {"role": "user", "content": "Why is the sky blue? 🌤"}],
]


def main(folder, out, count):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with open(out, "w") as file:
        for prompt in PROMPTS:
            if isinstance(prompt, str):
                ids = tokenizer(prompt)["input_ids"]
            else:
                text = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False)
                ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            answer, margins = greedy(model, ids, count)
            ends = [i for i, token in enumerate(answer) if token == tokenizer.eos_token_id]
            answer = answer[:ends[0] + 1] if ends else answer
            file.write(json.dumps({"prompt": prompt, "ids": ids, "answer": answer, "margins": margins[:len(answer)],
                                   "text": tokenizer.decode(answer, skip_special_tokens=True)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
