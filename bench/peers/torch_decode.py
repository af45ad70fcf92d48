"""Decodes with a static cache in plain PyTorch, each layer compiled, the whole step in one CUDA graph.

usage: torch_decode.py CONFIG_JSON BATCH...   prints {batch: tokens a second}
Random bf16 weights, context 448 to 576, a token sampled at temperature 1 in each step.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

CONTEXT, STEPS, ROOM = 448, 128, 576


def norm(x, weight, eps):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def turn(x, cos, sin):
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


class Decoder:
    def __init__(self, config, batch):
        self.config, self.batch = config, batch
        hidden, heads, kv = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
        size = hidden // heads
        inner = config["intermediate_size"]

        def draw(*shape):
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02

        self.embedding = draw(config["vocab_size"], hidden)
        self.layers = [dict(qkv=draw((heads + 2 * kv) * size, hidden), bias=draw((heads + 2 * kv) * size),
                            out=draw(hidden, heads * size), gate_up=draw(2 * inner, hidden), down=draw(hidden, inner),
                            first=torch.ones_like(draw(hidden)), second=torch.ones_like(draw(hidden)),
                            keys=draw(batch, kv, ROOM, size), values=draw(batch, kv, ROOM, size))
                       for _ in range(config["num_hidden_layers"])]
        self.final = torch.ones_like(draw(hidden))
        frequency = 1.0 / config["rope_theta"] ** (torch.arange(0, size, 2, device="cuda").float() / size)
        angle = torch.outer(torch.arange(ROOM, device="cuda").float(), frequency)
        angle = torch.cat((angle, angle), -1)
        self.cos, self.sin = angle.cos().bfloat16(), angle.sin().bfloat16()
        self.position = torch.tensor([CONTEXT], device="cuda")
        self.token = torch.randint(0, config["vocab_size"], (batch,), device="cuda")
        self.places = torch.arange(ROOM, device="cuda")
        self.layer = torch.compile(self.plain_layer, fullgraph=True, dynamic=False)
        self.head = torch.compile(self.plain_head, fullgraph=True, dynamic=False)

    def plain_layer(self, x, w, cos, sin, mask, position):
        c = self.config
        heads, kv, eps = c["num_attention_heads"], c["num_key_value_heads"], c["rms_norm_eps"]
        size = c["hidden_size"] // heads
        q, k, v = F.linear(norm(x, w["first"], eps), w["qkv"], w["bias"]).split(
            [heads * size, kv * size, kv * size], -1)
        q = turn(q.view(-1, heads, size), cos, sin)
        k = turn(k.view(-1, kv, size), cos, sin)
        w["keys"].index_copy_(2, position, k.unsqueeze(2))
        w["values"].index_copy_(2, position, v.reshape(-1, kv, 1, size))
        mixed = F.scaled_dot_product_attention(q.view(-1, kv, heads // kv, size), w["keys"], w["values"],
                                               attn_mask=mask)
        x = x + F.linear(mixed.reshape(-1, heads * size), w["out"])
        gate, up = F.linear(norm(x, w["second"], eps), w["gate_up"]).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, w["down"])

    def plain_head(self, x):
        logits = F.linear(norm(x, self.final, self.config["rms_norm_eps"]), self.embedding).float()
        return torch.argmax(logits - torch.log(torch.empty_like(logits).exponential_(1.0)), -1)

    def step(self):
        c = self.config
        cos, sin = self.cos[self.position], self.sin[self.position]
        repeats = c["num_attention_heads"] // c["num_key_value_heads"]
        mask = (self.places <= self.position).view(1, 1, 1, ROOM).expand(1, 1, repeats, ROOM)
        x = F.embedding(self.token, self.embedding)
        for w in self.layers:
            x = self.layer(x, w, cos, sin, mask, self.position)
        self.token.copy_(self.head(x))
        self.position.add_(1)


@torch.no_grad()
def tokens_a_second(config, batch):
    torch._dynamo.reset()
    decoder = Decoder(config, batch)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            decoder.position.fill_(CONTEXT)
            decoder.step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        decoder.step()
    seconds = []
    for _ in range(6):
        decoder.position.fill_(CONTEXT)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            graph.replay()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    return batch * STEPS / statistics.median(seconds[1:])


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    print(json.dumps({batch: tokens_a_second(config, int(batch)) for batch in sys.argv[2:]}))


if __name__ == "__main__":
    main()
