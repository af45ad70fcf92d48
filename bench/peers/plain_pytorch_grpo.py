"""The tiny GRPO step in plain PyTorch: what rlflow's own step is compared with.

Loads a Llama folder (config.json, model.safetensors), runs GRPO on sums as pipelines/tiny_grpo.rlflow does (32 prompts
x 8 samples, max_new 34, token mean, clip 0.2, no KL), and prints one JSON object: seconds of each step.
Padded batches, a KV cache, no autograd in the rollout: the ordinary way to write it.
"""
import argparse
import json
import os
import random
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

PAD, BOS, EOS = 0, 1, 2
VOCABULARY = ["<pad>", "<bos>", "<eos>"] + list("0123456789+-*=<> ")
IDS = {token: i for i, token in enumerate(VOCABULARY)}


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Llama:
    def __init__(self, folder):
        self.config = json.load(open(os.path.join(folder, "config.json")))
        self.weights = load_file(os.path.join(folder, "model.safetensors"))
        for weight in self.weights.values():
            weight.requires_grad_(True)
        c = self.config
        self.head_dim = c["hidden_size"] // c["num_attention_heads"]
        inverse = 1.0 / c["rope_theta"] ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim)
        angles = torch.outer(torch.arange(c["max_position_embeddings"]).float(), inverse)
        angles = torch.cat([angles, angles], -1)
        self.cos, self.sin = angles.cos(), angles.sin()

    def norm(self, x, name):
        return F.rms_norm(x, (x.shape[-1],), self.weights[name], self.config["rms_norm_eps"])

    def attention(self, x, layer, cos, sin, mask, cache, start):
        c, w, prefix = self.config, self.weights, f"model.layers.{layer}.self_attn."
        heads, kv_heads, d = c["num_attention_heads"], c["num_key_value_heads"], self.head_dim
        batch, time_steps, _ = x.shape
        q, k, v = (F.linear(x, w[prefix + n + "_proj.weight"]).view(batch, time_steps, h, d).transpose(1, 2)
                   for n, h in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            keys, values = cache[layer]
            keys[:, :, start:start + time_steps], values[:, :, start:start + time_steps] = k, v
            k, v = keys[:, :, :start + time_steps], values[:, :, :start + time_steps]
        groups = heads // kv_heads
        scores = (q.reshape(batch, kv_heads, groups * time_steps, d) @ k.transpose(-1, -2)) * d ** -0.5
        scores = scores.view(batch, kv_heads, groups, time_steps, -1) + mask[:, None, None]
        mixed = scores.softmax(-1).view(batch, kv_heads, groups * time_steps, -1) @ v
        mixed = mixed.view(batch, heads, time_steps, d).transpose(1, 2).reshape(batch, time_steps, heads * d)
        return F.linear(mixed, w[prefix + "o_proj.weight"])

    def hidden(self, ids, positions, mask, cache=None, start=0):
        w = self.weights
        x = F.embedding(ids, w["model.embed_tokens.weight"])
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        for layer in range(self.config["num_hidden_layers"]):
            prefix = f"model.layers.{layer}."
            x = x + self.attention(self.norm(x, prefix + "input_layernorm.weight"), layer, cos, sin, mask, cache, start)
            h = self.norm(x, prefix + "post_attention_layernorm.weight")
            gate = F.silu(F.linear(h, w[prefix + "mlp.gate_proj.weight"])) * F.linear(h, w[prefix + "mlp.up_proj.weight"])
            x = x + F.linear(gate, w[prefix + "mlp.down_proj.weight"])
        return self.norm(x, "model.norm.weight")

    def logits(self, hidden):
        return hidden @ self.weights["model.embed_tokens.weight"].t()


def causal(attended):
    batch, length = attended.shape
    positions = (attended.cumsum(1) - 1).clamp(min=0)
    allowed = torch.ones(length, length, dtype=torch.bool).tril()[None] & (attended[:, None, :] > 0)
    allowed = allowed | torch.eye(length, dtype=torch.bool)[None]
    return torch.zeros(batch, length, length).masked_fill(~allowed, -1e9), positions


@torch.no_grad()
def rollout(model, ids, attended, max_new, generator):
    c = model.config
    batch, prompt = ids.shape
    shape = (batch, c["num_key_value_heads"], prompt + max_new, model.head_dim)
    cache = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(c["num_hidden_layers"])]
    mask, positions = causal(attended)
    hidden = model.hidden(ids, positions, mask, cache)[:, -1:]
    bias = torch.zeros(batch, 1, prompt + max_new)
    bias[:, 0, :prompt] = (1 - attended) * -1e9
    position, done = positions[:, -1:], torch.zeros(batch, dtype=torch.bool)
    out, logprobs = torch.full((batch, max_new), PAD), torch.zeros(batch, max_new)
    for t in range(max_new):
        logp = model.logits(hidden[:, 0]).log_softmax(-1)
        uniform = torch.rand(logp.shape, generator=generator).clamp_(1e-20, 1)
        token = torch.where(done, PAD, (logp - torch.log(-torch.log(uniform))).argmax(-1))
        out[:, t] = token
        logprobs[:, t] = torch.where(done, 0.0, logp.gather(1, token[:, None])[:, 0])
        done = done | (token == EOS)
        if bool(done.all()) or t == max_new - 1:
            break
        position = position + 1
        hidden = model.hidden(token[:, None], position, bias[:, :, :prompt + t + 1], cache, prompt + t)
    return out[:, :t + 1], logprobs[:, :t + 1]


def reward(total, ids):
    if EOS not in ids:
        return 0.0
    text = "".join(VOCABULARY[i] for i in ids[:ids.index(EOS)])
    if text.startswith("<"):
        if ">" not in text:
            return 0.0
        text = text.rsplit(">", 1)[1]
    return float(text == str(total))


def draw_prompts(source, count):
    rows = []
    for _ in range(count):
        digits = source.randint(2, 3)
        low, high = 10 ** (digits - 1), 10 ** digits - 1
        rows.append((source.randint(low, high), source.randint(low, high)))
    texts = [[BOS] + [IDS[c] for c in f"{a}+{b}="] for a, b in rows]
    width = max(map(len, texts))
    ids = torch.full((count, width), PAD)
    attended = torch.zeros(count, width, dtype=torch.long)
    for i, text in enumerate(texts):
        ids[i, width - len(text):], attended[i, width - len(text):] = torch.tensor(text), 1
    return rows, ids, attended


def step(model, optimizer, source, generator, prompts, samples, max_new):
    rows, ids, attended = draw_prompts(source, prompts)
    ids, attended = ids.repeat_interleave(samples, 0), attended.repeat_interleave(samples, 0)
    out, sampled = rollout(model, ids, attended, max_new, generator)
    scores = torch.tensor([reward(sum(rows[i // samples]), o) for i, o in enumerate(out.tolist())]).view(prompts, samples)
    advantage = (scores - scores.mean(1, keepdim=True)) / (scores.std(1, keepdim=True) + 1e-6)
    advantage = advantage.reshape(-1, 1)
    kept = (out != PAD).float()
    full, real = torch.cat([ids, out], 1), torch.cat([attended, kept.long()], 1)
    mask, positions = causal(real[:, :-1])
    hidden = model.hidden(full[:, :-1], positions, mask)[:, ids.shape[1] - 1:]
    logp = model.logits(hidden).log_softmax(-1).gather(2, out[:, :, None])[:, :, 0]
    ratio = (logp - sampled).exp()
    loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    loss = (loss * kept).sum() / kept.sum()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.weights.values(), 1.0)
    optimizer.step()
    return scores.mean().item(), kept.sum(1).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="models/tiny")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    model = Llama(a.model)
    optimizer = torch.optim.AdamW(model.weights.values(), lr=1.5e-4, betas=(0.9, 0.99), weight_decay=0.0, fused=True)
    source, generator = random.Random(1), torch.Generator().manual_seed(1)
    seconds, rewards, lengths = [], [], []
    for _ in range(a.steps):
        start = time.perf_counter()
        mean_reward, mean_length = step(model, optimizer, source, generator, 32, 8, 34)
        seconds.append(time.perf_counter() - start)
        rewards.append(mean_reward)
        lengths.append(mean_length)
    print(json.dumps({"seconds": seconds, "reward": rewards, "length": lengths, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
