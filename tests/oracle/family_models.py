"""Makes small random models of each family with transformers, and what they compute, for family_parity_test.

family_models.py make FOLDER   writes FOLDER/<name>/model and FOLDER/<name>/expected.safetensors
family_models.py check FOLDER  loads FOLDER/<name>/exported and compares its logits with those of <name>/model
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers import Gemma3TextConfig, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

torch.set_num_threads(1)
VOCAB = 96
SIZES = dict(vocab_size=VOCAB, hidden_size=48, intermediate_size=80, num_hidden_layers=4, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=160, bos_token_id=1, eos_token_id=2, pad_token_id=0)
LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=40, rope_theta=10000.0)
LAYERS = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
CONFIGS = {
    "llama": LlamaConfig(**SIZES, rms_norm_eps=1e-5),
    "llama3": LlamaConfig(**SIZES, rope_parameters=LLAMA3, tie_word_embeddings=True),
    "llama_linear": LlamaConfig(**SIZES, head_dim=20,
                                rope_parameters=dict(rope_type="linear", factor=2.5, rope_theta=5000.0)),
    "llama_biases": LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True, hidden_act="gelu_pytorch_tanh"),
    "mistral": MistralConfig(**SIZES, sliding_window=9),
    "mistral_full": MistralConfig(**SIZES, sliding_window=None, head_dim=8),
    "qwen2": Qwen2Config(**SIZES, tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1e6)),
    "qwen2_sliding": Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=7, max_window_layers=2),
    "qwen3": Qwen3Config(**SIZES, head_dim=24, tie_word_embeddings=True),
    "qwen3_biases": Qwen3Config(**SIZES, head_dim=24, attention_bias=True),
    "gemma3": Gemma3TextConfig(**SIZES, head_dim=16, query_pre_attn_scalar=20, sliding_window=11, layer_types=LAYERS),
    "gemma3_scaled": Gemma3TextConfig(
        **SIZES, head_dim=16, query_pre_attn_scalar=16, sliding_window=8, layer_types=LAYERS, attention_bias=True,
        tie_word_embeddings=False,
        rope_parameters={"full_attention": dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                         "sliding_attention": dict(rope_type="default", rope_theta=1e4)}),
}


def build(config, seed):
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Norms and biases that do nothing would hide mistakes; larger weights make the layers matter.
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
            else:
                parameter.copy_(torch.randn_like(parameter) * (0.3 if "embed" in name else 0.15))
    return model.eval()


def greedy(model, prompt, count):
    """Tokens, and the smallest margin between the two largest logits up to each of them."""
    tokens, margins, margin = list(prompt), [], float("inf")
    with torch.no_grad():
        cache = None
        feed = torch.tensor([prompt])
        for _ in range(count):
            out = model(input_ids=feed, past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            top = out.logits[0, -1].topk(2)
            margin = min(margin, (top.values[0] - top.values[1]).item())
            tokens.append(top.indices[0].item())
            margins.append(margin)
            feed = top.indices[:1][None]
    return tokens[len(prompt):], margins


def expected(model, seed):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, VOCAB, (60,), generator=generator)
    logits = model(input_ids=tokens[None]).logits[0]
    logprob = logits[:-1].log_softmax(-1).gather(1, tokens[1:, None])[:, 0]
    (-logprob.mean()).backward()
    result = {"tokens": tokens.int(), "logits": logits.detach().contiguous(), "logprob": logprob.detach().contiguous()}
    for name, parameter in model.named_parameters():
        result["gradient." + name] = parameter.grad.contiguous()
    half = torch.bfloat16
    bf16 = AutoModelForCausalLM.from_config(model.config, dtype=half, attn_implementation="eager").eval()
    bf16.load_state_dict({name: value.to(half) for name, value in model.state_dict().items()})
    with torch.no_grad():
        result["logits_bf16"] = bf16(input_ids=tokens[None]).logits[0].float().contiguous()
        # Parameters alone in bf16, activations in f32.
        rounded = AutoModelForCausalLM.from_config(model.config, dtype=torch.float32, attn_implementation="eager").eval()
        rounded.load_state_dict({name: value.to(half).float() for name, value in model.state_dict().items()})
        result["logits_rounded"] = rounded(input_ids=tokens[None]).logits[0].contiguous()
    prompts = [torch.randint(3, VOCAB, (1 + 3 * i % 17,), generator=generator).tolist() for i in range(16)]
    answers, margins = [], []
    for prompt in prompts:
        answer, margin = greedy(model, prompt, 64)
        answers.append(answer)
        margins.append(margin)
    result["prompts"] = torch.tensor(sum(prompts, []), dtype=torch.int32)
    result["prompt_lengths"] = torch.tensor([len(p) for p in prompts], dtype=torch.int32)
    result["answers"] = torch.tensor(answers, dtype=torch.int32)
    result["margins"] = torch.tensor(margins, dtype=torch.float32)
    return result


def make(folder):
    for i, (name, config) in enumerate(CONFIGS.items()):
        place = folder / name
        place.mkdir(parents=True)
        model = build(config, 7 + i)
        save_file(expected(model, 100 + i), place / "expected.safetensors")
        model.generation_config = GenerationConfig(eos_token_id=2)
        # Every second one in several files, with an index.
        model.save_pretrained(place / "model", **({"max_shard_size": "60KB"} if i % 2 else {}))


def check(folder):
    failures = []
    for name, config in CONFIGS.items():
        source = AutoModelForCausalLM.from_pretrained(folder / name / "model", dtype=torch.float32)
        exported, report = AutoModelForCausalLM.from_pretrained(folder / name / "exported", dtype=torch.float32,
                                                                output_loading_info=True)
        tokens = torch.arange(3, 63)[None]
        with torch.no_grad():
            difference = (source(input_ids=tokens).logits - exported(input_ids=tokens).logits).abs().max().item()
        if difference != 0:
            failures.append(f"{name}: logits differ by {difference}")
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            if report[kind]:
                failures.append(f"{name}: {kind} {report[kind]}")
        half = AutoModelForCausalLM.from_pretrained(folder / name / "exported_bf16", dtype="auto").state_dict()
        for tensor, value in source.state_dict().items():
            if half[tensor].dtype != torch.bfloat16 or not torch.equal(half[tensor], value.to(torch.bfloat16)):
                failures.append(f"{name}: {tensor} exported in bf16")
        written = json.loads((folder / name / "exported/config.json").read_text())
        for key in ("rope_theta", "rope_parameters", "torch_dtype", "dtype", "head_dim"):
            if key not in written:
                failures.append(f"{name}: exported config.json has no {key}")
    print("failed: " + "\n".join(failures) if failures else "equal")
    return 1 if failures else 0


if __name__ == "__main__":
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.exit(make(folder) if command == "make" else check(folder))
