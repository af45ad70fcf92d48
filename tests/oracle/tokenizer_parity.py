"""Trains a tokenizer of each family with the `tokenizers` package and writes what it makes of many strings.

tokenizer_parity.py OUT STRINGS [FOLDER...]: a folder under OUT for each family and for each FOLDER that holds a
tokenizer.json, with cases.jsonl: one object a line, `hex` the bytes of a text, `ids` with special tokens found in it,
`plain` without, `decoded` the text of `ids`; lines without `hex` decode only. Everything is drawn from fixed seeds.
"""
import json
import pathlib
import random
import shutil
import sys
import sysconfig
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CHAT = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORLD = ("Zażółć gęślą jaźń. Привет, мир! 你好，世界。今天天气很好。 こんにちは世界、元気ですか。 안녕하세요 세계 "
         "مرحبا بالعالم ١٢٣ שלום עולם नमस्ते दुनिया १२३ สวัสดีชาวโลก Γειά σου Κόσμε ")


def corpus():
    stdlib = pathlib.Path(sysconfig.get_paths()["stdlib"])
    texts = [(stdlib / name).read_text() for name in ("argparse.py", "ast.py", "difflib.py", "typing.py", "doctest.py")]
    return [line for text in texts for line in text.splitlines(keepends=True)] + [WORLD] * 40


def byte_level(vocab, pre, normalizer=None, special=CHAT, **model):
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab, special_tokens=list(special), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def bytes_after(*steps, prefix=False, words=False):
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=words)])


def characters(vocab, normalizer, pre, decoder, fallback=True, fuse=True):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=fallback, fuse_unk=fuse))
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, pre, decoder
    special = ["<unk>", "<s>", "</s>"] + (BYTES if fallback else [])
    trainer = trainers.BpeTrainer(vocab_size=vocab, special_tokens=special, limit_alphabet=120, show_progress=False,
                                  max_token_length=12)
    # Each line in words, since merges over whole lines would learn the lines by heart.
    tokenizer.train_from_iterator([word for line in corpus() for word in line.replace(" ", " \0").split("\0")], trainer)
    return tokenizer


def sentencepiece_decoder(strip):
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


def families():
    yield "gpt2", byte_level(1500, pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "gpt2-prefix", byte_level(700, pre_tokenizers.ByteLevel(add_prefix_space=True))
    llama3 = byte_level(3000, bytes_after(split(LLAMA3)), special=["<|begin_of_text|>", "<|eot_id|>"], ignore_merges=True)
    llama3.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)])])
    yield "llama3", llama3
    qwen2 = byte_level(2500, bytes_after(split(QWEN2)), normalizers.NFC())
    qwen2.add_tokens([AddedToken(name, normalized=False) for name in ("<think>", "</think>", "<tool_call>")])
    yield "qwen2", qwen2
    yield "smollm2", byte_level(2000, bytes_after(pre_tokenizers.Digits(individual_digits=True), words=True))
    yield "patterns", byte_level(
        1200, bytes_after(split(r"\p{N}{1,3}"), split(r"[一-龥぀-ゟ゠-ヿ]+"), split(r"[^\r\n]*[\r\n]+", "merged_with_next"),
                          split(r"[\p{L}\p{M}\p{N}_]++|[^\s\p{L}]+?(?!\S)", "removed", True), pre_tokenizers.Digits(individual_digits=False)),
        normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip(left=True, right=False)]))
    yield "llama2", characters(
        1500, normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
        sentencepiece_decoder(True))
    gemma = characters(1500, normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
                       sentencepiece_decoder(False))
    gemma.add_special_tokens([AddedToken("<start_of_turn>", special=True, rstrip=True), AddedToken("<eos>", special=True)])
    gemma.add_tokens([AddedToken("\n\n", normalized=False), AddedToken("\n\n\n", normalized=False),
                      AddedToken("def", single_word=True, normalized=False), AddedToken("left", lstrip=True),
                      AddedToken("a b", normalized=True), AddedToken("right", rstrip=True, normalized=False)])
    yield "gemma", gemma
    yield "metaspace", characters(1200, None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                                  sentencepiece_decoder(True))
    yield "metaspace-split", characters(900, normalizers.NFKD(), pre_tokenizers.Metaspace(prepend_scheme="always"),
                                        decoders.Metaspace(), fallback=False, fuse=False)


def as_folder(tokenizer, folder, name):
    folder.mkdir(parents=True)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in BYTES]
    if name in ("gpt2-prefix", "llama2"):  # the older form
        data["model"]["merges"] = [" ".join(pair) for pair in data["model"]["merges"]]
    (folder / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=name == "qwen2"))
    (folder / "tokenizer_config.json").write_text("{}")


def known_to_package(character):
    """Whether its normal forms are those of Python's Unicode 14.0: the package's normalizers are of Unicode 9.0."""
    texts = [character, "a\u0345" + character, "a" + character + "\u0334"]
    return all(getattr(normalizers, form)().normalize_str(text) == unicodedata.normalize(form, text)
               for form in ("NFC", "NFKD") for text in texts)


class Strings:
    """Texts of many kinds from one seed, with names of the tokenizer's added tokens among them."""

    def __init__(self, seed, names):
        self.random = random.Random(seed)
        self.names = list(names)
        self.lines = corpus()
        self.assigned = CHARACTERS
        self.marks = [c for c in self.assigned if unicodedata.category(c) in ("Mn", "Mc")]

    def some(self, alphabet, most):
        return "".join(self.random.choice(alphabet) for _ in range(self.random.randint(0, most)))

    def piece(self):
        kinds = [
            lambda: self.random.choice(self.lines),
            lambda: self.some(" ", 9),
            lambda: self.some(" \n\r\t\u00a0\u2003\u3000\u0085\u2028\x0b\u200b\u180e\ufeff", 6),
            lambda: str(self.random.randrange(10 ** self.random.randint(1, 15))),
            lambda: self.some("٠١٢٣۴५६½²Ⅷ一二", 5),
            lambda: self.some("😀🎉👩‍💻👨‍👩‍👧🇩🇪🏳️‍🌈❤️👍🏽", 5),
            lambda: self.random.choice(WORLD.split(" ")),
            lambda: "e" + self.some(self.marks, 3) + self.random.choice(["é", "ǆ", "ﬁ", "가", "각", "Å", "ß", "İ", "Σ"]),
            lambda: self.some(self.assigned, 6),
            lambda: self.some("".join(map(chr, range(32))) + "\x7f", 4),
            lambda: self.random.choice(["it's", "IT'S", "we'LL", "'ſ", "I'd", "'tis", "don''t", "they'Ve", "'", "'\u212a"]),
            lambda: self.some("{}[]()<>=!|&+-*/\\;:.,\"'`~@#$%^_?", 7),
            lambda: self.random.choice([" ", ""]) + self.random.choice(self.names) + self.random.choice([" ", "", "\n"]),
            lambda: self.random.choice(["deft", "def ", " left", "a b", "▁", "<0x41>", "right  ", "\n\n\n\n", "<unk>", "ſ"]),
            lambda: self.random.choice("abcxyz ") * self.random.choice([1, 3, 60, 300]),
        ]
        return self.random.choice(kinds)()

    def text(self):
        return "".join(self.piece() for _ in range(self.random.randint(0, 6))).encode("utf-8", "surrogatepass").decode("utf-8", "replace")

    def broken(self):
        data = bytearray(self.text().encode())
        for _ in range(self.random.randint(1, 4)):
            data.insert(self.random.randint(0, len(data)), self.random.choice([0x80, 0xc3, 0xe2, 0xed, 0xf0, 0xf4, 0xff]))
        return bytes(data)


def write_cases(folder, count, seed):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    strings = Strings(seed, added or ["<none>"])
    with open(folder / "cases.jsonl", "w") as out:
        for i in range(count):
            data = strings.broken() if i % 20 == 0 else strings.text().encode()
            text = data.decode("utf-8", "replace")
            case = {"hex": data.hex()}
            for key, plain in (("ids", False), ("plain", True)):
                tokenizer.encode_special_tokens = plain
                case[key] = tokenizer.encode(text, add_special_tokens=False).ids
            case["decoded"] = tokenizer.decode(case["ids"], skip_special_tokens=False)
            out.write(json.dumps(case) + "\n")
        for _ in range(count // 10):
            ids = [strings.random.randrange(tokenizer.get_vocab_size()) for _ in range(strings.random.randint(0, 12))]
            out.write(json.dumps({"ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False)}) + "\n")


# Of a Unicode that both sides know: Python 3.11 has 14.0.
CHARACTERS = [c for c in map(chr, range(0x30000))
              if unicodedata.category(c) not in ("Cn", "Cs", "Co") and known_to_package(c)]


def main():
    out, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    shutil.rmtree(out, ignore_errors=True)
    for name, tokenizer in families():
        as_folder(tokenizer, out / name, name)
    for folder in map(pathlib.Path, sys.argv[3:]):
        shutil.copytree(folder, out / ("given-" + folder.name), ignore=lambda at, names: [n for n in names if n.endswith("tensors")])
    for seed, folder in enumerate(sorted(out.iterdir())):
        write_cases(folder, count, seed)


if __name__ == "__main__":
    main()
