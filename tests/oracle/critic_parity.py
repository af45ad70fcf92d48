"""Compares the critic in a folder written by llama_parity_test with transformers: values and the gradient of a loss."""
import pathlib
import sys

import torch
from safetensors import safe_open
from transformers import AutoModelForSequenceClassification

folder = pathlib.Path(sys.argv[1])
torch.set_num_threads(1)
model, report = AutoModelForSequenceClassification.from_pretrained(folder / "model", dtype=torch.float32,
                                                                   output_loading_info=True)
with safe_open(folder / "observed.safetensors", "pt") as f:
    observed = {name: f.get_tensor(name) for name in f.keys()}
failures = [f"{kind}: {report[kind]}" for kind in ("missing_keys", "unexpected_keys") if report[kind]]


def check(what, got, want, bound):
    error = ((got - want).double().norm() / want.double().norm()).item()
    print(f"{what}: {error:.2e} (bound {bound:.0e})")
    if not error <= bound:
        failures.append(what)


# The value of token t is read before it, from the row of token t - 1.
hidden = model.model(input_ids=observed["tokens"].long()[None]).last_hidden_state[0, :-1]
values = model.score(hidden)[:, 0]
check("values", observed["value"], values.detach(), 1e-5)
(0.5 * (values - 0.7).square().mean()).backward()
for name, parameter in model.named_parameters():
    check("gradient of " + name, observed["gradient." + name], parameter.grad, 1e-5)

print("failed: " + ", ".join(failures) if failures else "equal")
sys.exit(1 if failures else 0)
