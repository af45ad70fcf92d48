"""Compares a folder written by llama_parity_test with transformers and torch: tokens, logits, gradients, AdamW."""
import json
import pathlib
import sys

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = pathlib.Path(sys.argv[1])
torch.set_num_threads(1)
model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
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


tokens = observed["tokens"].long()[None]
logits = model(input_ids=tokens).logits[0]
check("logits", observed["logits"], logits.detach(), 2e-5)

# The loss of the test: -(sum of the log-probabilities of the next tokens) / count, at its temperature.
scaled = logits[:-1] / settings["temperature"]
logprob = scaled.log_softmax(-1).gather(1, tokens[0, 1:, None])[:, 0]
entropy = -(scaled.softmax(-1) * scaled.log_softmax(-1)).sum(-1)
check("log-probabilities", observed["logprob"], logprob.detach(), 2e-5)
check("entropy", observed["entropy"], entropy.detach(), 2e-5)
loss = -logprob.mean() - settings["entropy"] * entropy.mean()
loss.backward()
named = {name: p for name, p in model.named_parameters()}
for name, parameter in named.items():
    check("gradient of " + name, observed["gradient." + name], parameter.grad, 1e-5, relative=True)

optimizer = torch.optim.AdamW(
    [
        {"params": [p for p in named.values() if p.dim() > 1], "weight_decay": settings["decay"]},
        {"params": [p for p in named.values() if p.dim() == 1], "weight_decay": 0.0},
    ],
    lr=settings["lr"], betas=tuple(settings["betas"]), eps=settings["eps"])
for _ in range(3):
    for name, parameter in named.items():
        parameter.grad = observed["gradient." + name].clone()
    torch.nn.utils.clip_grad_norm_(named.values(), settings["clip"])
    optimizer.step()
for name, parameter in named.items():
    check("after AdamW " + name, observed["after." + name], parameter.detach(), 1e-6)

tokenizer = AutoTokenizer.from_pretrained(folder / "model")
for text, ids in settings["encoded"].items():
    if tokenizer(text, add_special_tokens=False).input_ids != ids or tokenizer.decode(ids) != text:
        failures.append("tokens of " + text)
try:
    tokenizer("1a")
    failures.append("an unknown character is no error")
except Exception:
    pass

print("failed: " + ", ".join(failures) if failures else "equal")
sys.exit(1 if failures else 0)
