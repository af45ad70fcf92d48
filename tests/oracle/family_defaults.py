"""What transformers makes of small config.json texts: absent keys and both dialects. Writes JSON for family_defaults_test."""
import copy
import json
import sys

from transformers.models.auto.configuration_auto import CONFIG_MAPPING

SIZES = dict(vocab_size=1000, hidden_size=4096, intermediate_size=77, num_hidden_layers=30, num_attention_heads=32)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=512)
CASES = [dict(model_type=family, **SIZES) for family in ("llama", "mistral", "qwen2", "qwen3", "gemma3_text")]
CASES += [
    # As transformers 4 writes them.
    dict(model_type="llama", **SIZES, num_key_value_heads=None, rope_theta=5e5, rope_scaling=dict(LLAMA3)),
    dict(model_type="llama", **SIZES, rope_theta=3e4, rope_scaling=dict(type="linear", factor=4.0)),
    dict(model_type="mistral", **SIZES, sliding_window=None, rope_theta=1e6, num_key_value_heads=4),
    dict(model_type="qwen2", **SIZES, use_sliding_window=True, sliding_window=64, max_window_layers=21,
         num_key_value_heads=None, rope_theta=1e6),
    dict(model_type="qwen2", **SIZES, use_sliding_window=False, sliding_window=64, rope_theta=1e6),
    dict(model_type="qwen3", **SIZES, use_sliding_window=True, head_dim=64),
    dict(model_type="gemma3_text", **SIZES, rope_theta=2e6, rope_local_base_freq=2e4, sliding_window_pattern=4,
         rope_scaling=dict(rope_type="linear", factor=8.0), query_pre_attn_scalar=168),
    # As transformers 5 writes them.
    dict(model_type="llama", **SIZES, rope_parameters=dict(LLAMA3, rope_theta=5e5)),
    dict(model_type="llama", **SIZES, rope_parameters=dict({k: v for k, v in LLAMA3.items() if "original" not in k},
                                                           rope_theta=5e5)),
    dict(model_type="qwen3", **SIZES, use_sliding_window=True, sliding_window=32,
         layer_types=["full_attention", "sliding_attention"] * 15, rope_parameters=dict(rope_theta=1e6, rope_type="default")),
    dict(model_type="gemma3_text", **SIZES, layer_types=["full_attention", "sliding_attention"] * 15,
         rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                              sliding_attention=dict(rope_type="default", rope_theta=3e4))),
]


def rope(parameters):
    return {key: parameters.get(key) for key in ("rope_type", "rope_theta", "factor", "low_freq_factor",
                                                 "high_freq_factor", "original_max_position_embeddings")}


def resolved(written):
    config = CONFIG_MAPPING[written["model_type"]].from_dict(copy.deepcopy(written))
    gemma = written["model_type"] == "gemma3_text"
    window = getattr(config, "sliding_window", None) if written["model_type"] != "llama" else None
    types = getattr(config, "layer_types", None) or []
    sliding = [t == "sliding_attention" for t in types] or [window is not None] * config.num_hidden_layers
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    full = config.rope_parameters["full_attention"] if gemma else config.rope_parameters
    local = config.rope_parameters["sliding_attention"] if gemma else config.rope_parameters
    eos = config.eos_token_id
    return dict(
        kv_heads=config.num_key_value_heads, head_dim=head_dim, max_positions=config.max_position_embeddings,
        rms_norm_eps=config.rms_norm_eps, initializer_range=config.initializer_range,
        activation=config.hidden_activation if gemma else config.hidden_act, tied=config.tie_word_embeddings,
        bias=getattr(config, "attention_bias", False), mlp_bias=getattr(config, "mlp_bias", False),
        query_scalar=config.query_pre_attn_scalar if gemma else head_dim, sliding=sliding,
        window=window if any(sliding) else 0, full=rope(full), local=rope(local), eos=eos)


with open(sys.argv[1], "w") as out:
    json.dump([{"written": json.dumps(case), "resolved": resolved(case)} for case in CASES], out, indent=1)
