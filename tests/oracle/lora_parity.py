"""Compares folders written by lora_parity_test with PEFT on transformers: logits, gradients of A and B, merging.

<folder>/model is the base, <folder>/adapter a PEFT folder, <folder>/merged the sum.
"""
import json
import pathlib
import sys

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors import safe_open
from transformers import AutoModelForCausalLM

folder = pathlib.Path(sys.argv[1])
torch.set_num_threads(1)
with safe_open(folder / "observed.safetensors", "pt") as f:
    observed = {name: f.get_tensor(name) for name in f.keys()}
settings = json.loads((folder / "settings.json").read_text())
failures = []


def check(what, got, want, bound, relative=False):
    error = (got.double() - want.double()).abs().max().item()
    if relative:
        error = ((got - want).double().norm() / want.double().norm()).item()
    print(f"{what}: {error:.2e} (bound {bound:.0e})")
    if not error <= bound:
        failures.append(what)


config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
if pathlib.Path(config["base_model_name_or_path"]) != (folder / "model").resolve():
    failures.append("the base that adapter_config.json names")
base = AutoModelForCausalLM.from_pretrained(config["base_model_name_or_path"], dtype=torch.float32)
model = PeftModel.from_pretrained(base, folder / "adapter", is_trainable=True)
tokens = observed["tokens"].long()[None]
logits = model(input_ids=tokens).logits[0]
check("logits", observed["logits"], logits.detach(), 2e-5)
logprob = logits[:-1].log_softmax(-1).gather(1, tokens[0, 1:, None])[:, 0]
check("log-probabilities", observed["logprob"], logprob.detach(), 2e-5)
(-logprob.mean()).backward()

# Names as PEFT keeps them in memory have the adapter's own name in them; as it saves them they have not.
saved = {name.replace(".default.", "."): p for name, p in model.named_parameters() if p.requires_grad}
if set(saved) != {name[len("gradient."):] for name in observed if name.startswith("gradient.")}:
    failures.append("which tensors are trained")
if set(get_peft_model_state_dict(model)) != set(saved):
    failures.append("names of the tensors")
for name, parameter in saved.items():
    check("gradient of " + name, observed["gradient." + name], parameter.grad, 5e-5, relative=True)

optimizer = torch.optim.AdamW(saved.values(), lr=settings["lr"], betas=tuple(settings["betas"]), eps=settings["eps"],
                              weight_decay=settings["decay"])
for _ in range(3):
    for name, parameter in saved.items():
        parameter.grad = observed["gradient." + name].clone()
    torch.nn.utils.clip_grad_norm_(saved.values(), settings["clip"])
    optimizer.step()
for name, parameter in saved.items():
    check("after AdamW " + name, observed["after." + name], parameter.detach(), 1e-6)

with torch.no_grad():
    fresh = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    adapted = PeftModel.from_pretrained(fresh, folder / "adapter")
    merged = AutoModelForCausalLM.from_pretrained(folder / "merged", dtype=torch.float32)
    want = adapted(input_ids=tokens).logits[0]
    check("logits of the merged folder", merged(input_ids=tokens).logits[0], want, 2e-5)
    ours, theirs = merged.state_dict(), adapted.merge_and_unload().state_dict()
    for name, value in theirs.items():
        check("merged " + name, ours[name], value, 1e-6)

print("failed: " + ", ".join(failures) if failures else "equal")
sys.exit(1 if failures else 0)
