"""Decoding by transformers' generate of the model in a Hugging Face folder.

usage: transformers_decode.py FOLDER THREADS NEW BATCH...
Prints one JSON object: tokens a second for each batch, after prompts of 16 tokens, which are not counted.
"""
import json
import sys
import time

import torch
from transformers import AutoModelForCausalLM


def tokens_a_second(model, new, batch):
    prompts = torch.arange(100, 116).repeat(batch, 1) + 16 * torch.arange(batch)[:, None]
    settings = {"attention_mask": torch.ones_like(prompts), "do_sample": True, "pad_token_id": 0}
    seconds = []
    for count in (1, 1, new):  # the first warms up, the second is the prompt with one token
        begin = time.perf_counter()
        model.generate(prompts, min_new_tokens=count, max_new_tokens=count, **settings)
        seconds.append(time.perf_counter() - begin)
    return batch * (new - 1) / (seconds[2] - seconds[1])


torch.set_num_threads(int(sys.argv[2]))
torch.manual_seed(1)
loaded = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
print(json.dumps({b: tokens_a_second(loaded, int(sys.argv[3]), int(b)) for b in sys.argv[4:]}))
