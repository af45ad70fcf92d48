"""Decoding by llama.cpp (PyPI: llama-cpp-python, gguf, numpy, safetensors) of the model in a Hugging Face folder.

usage: llama_cpp_decode.py --convert FOLDER OUT.gguf | OUT.gguf THREADS NEW BATCH...
Prints one JSON object: tokens a second for each batch, after prompts of 16 tokens. The next token of a sequence is
fixed, so llama.cpp need not sample: its figure is of the transformer alone.
"""
import ctypes
import json
import sys
import time
from pathlib import Path


def convert(folder, out):
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((Path(folder) / "config.json").read_text())
    tensors = load_file(Path(folder) / "model.safetensors")
    heads, kv_heads, layers = (config[f"num_{name}"] for name in ("attention_heads", "key_value_heads", "hidden_layers"))
    vocab = config["vocab_size"]
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(layers)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(vocab)
    writer.add_file_type(0)  # all f32
    # A vocabulary that only has to be there: tokens are fed as numbers.
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"<{i}>" for i in range(vocab)])
    writer.add_token_scores([0.0] * vocab)
    writer.add_token_types([3 if i < 3 else 1 for i in range(vocab)])

    def interleaved(weight, count):  # llama.cpp rotates neighbouring dimensions
        return weight.reshape(count, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)

    names = {"self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
             "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
             "post_attention_layernorm": "ffn_norm"}
    writer.add_tensor("token_embd.weight", tensors["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", tensors["model.norm.weight"])
    writer.add_tensor("output.weight", tensors["lm_head.weight"])
    for i in range(layers):
        source, target = f"model.layers.{i}.", f"blk.{i}."
        writer.add_tensor(target + "attn_q.weight", interleaved(tensors[source + "self_attn.q_proj.weight"], heads))
        writer.add_tensor(target + "attn_k.weight", interleaved(tensors[source + "self_attn.k_proj.weight"], kv_heads))
        for theirs, name in names.items():
            writer.add_tensor(target + name + ".weight", tensors[source + theirs + ".weight"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tokens_a_second(llama, model, threads, new, batch):
    params = llama.llama_context_default_params()
    params.n_ctx, params.n_seq_max = batch * (16 + new + 8), batch
    params.n_batch = params.n_ubatch = max(512, batch * 16)
    params.n_threads = params.n_threads_batch = threads
    params.kv_unified = True
    context = llama.llama_init_from_model(model, params)
    room = llama.llama_batch_init(batch * 16, 0, batch)

    def step(tokens):  # of (token, position, sequence, wants logits)
        room.n_tokens = len(tokens)
        for i, (token, position, sequence, wanted) in enumerate(tokens):
            room.token[i], room.pos[i], room.n_seq_id[i] = token, position, 1
            room.seq_id[i][0], room.logits[i] = sequence, wanted
        if llama.llama_decode(context, room) != 0:
            raise SystemExit("llama_decode failed")

    step([(100 + t + 16 * s, t, s, t == 15) for s in range(batch) for t in range(16)])
    step([(100, 16, s, True) for s in range(batch)])
    begin = time.perf_counter()
    for position in range(17, 16 + new):
        step([(100 + position, position, s, True) for s in range(batch)])
    seconds = time.perf_counter() - begin
    llama.llama_batch_free(room)
    llama.llama_free(context)
    return batch * (new - 1) / seconds


def main():
    if sys.argv[1] == "--convert":
        return convert(sys.argv[2], sys.argv[3])
    import llama_cpp as llama

    quiet = llama.llama_log_callback(lambda level, text, data: None)
    llama.llama_log_set(quiet, ctypes.c_void_p(0))
    llama.llama_backend_init()
    model = llama.llama_model_load_from_file(sys.argv[1].encode(), llama.llama_model_default_params())
    threads, new = int(sys.argv[2]), int(sys.argv[3])
    print(json.dumps({b: tokens_a_second(llama, model, threads, new, int(b)) for b in sys.argv[4:]}))


main()
