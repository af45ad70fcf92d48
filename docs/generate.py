#!/usr/bin/env python3
"""Writes the parts of docs/ that come from the program: the tables of language.md, codes.md, the picture.

usage: generate.py RLFLOW OUT    RLFLOW: the built program; OUT: the docs folder to write into

language.md is written by hand but for its blocks between `<!-- begin NAME -->` and `<!-- end NAME -->`, which are
made again from `rlflow explain --json`; every NAME below must stand there once.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def rlflow(program, *arguments):
    command = [program, "--color=never", "-q", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def cell(text):
    return str(text).replace("|", "\\|")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows])


def meaning_of(spec):
    if not spec["runs"]:
        return spec["doc"] + " *(not run by this version)*"
    if spec.get("not_executable"):
        return spec["doc"] + " *(not run by this version: " + ", ".join(spec["not_executable"]) + ")*"
    return spec["doc"]


def settings(specs, head="setting"):
    def default(spec):
        if spec["required"]:
            return "required"
        return "" if spec["default"] is None else f"`{spec['default']}`"

    return table([head, "values", "default", "meaning"],
                 [[f"`{s['name']}`", s["values"], default(s), meaning_of(s)] for s in specs])


def planned(thing):
    return "" if thing["runs"] else " *Checked and planned; not run by this version.*"


def sentence(doc):
    return doc[0].upper() + doc[1:] + "."


def nodes(known):
    parts = []
    for node in known["nodes"]:
        where = " Stands in `every` blocks only." if node["only_in_every"] else ""
        inputs = table(["input", "kind", "meaning"],
                       [[f"`{i['name']}`", i["kind"] + (", optional" if i["optional"] else ""), i["doc"]]
                        for i in node["inputs"]])
        parts += [f"### `{node['usage']}`", sentence(node["doc"]) + where + planned(node), inputs]
        if node["settings"]:
            parts.append(settings(node["settings"]))
    return "\n\n".join(parts)


def declarations(known):
    parts = []
    for owner in known["declarations"]:
        parts += [f"### Settings of {owner['name']}", settings(owner["settings"])]
    return "\n\n".join(parts)


def functions(known):
    parts = []
    for function in known["functions"]:
        parts += [f"### `{function['name']}(…)`", sentence(function["doc"]), settings(function["arguments"], "argument")]
    return "\n\n".join(parts)


def sources(known):
    parts = []
    for declaration in ("data", "rewards"):
        for source in known[declaration]:
            argument = source["name"] or {"exec": "COMMAND"}.get(source["source"], "PATH")
            word = "data" if declaration == "data" else "reward"
            parts += [f"### `{word} NAME = {source['source']}(\"{argument}\")`", sentence(source["doc"]) + planned(source)]
            if source["settings"]:
                parts.append(settings(source["settings"]))
    return "\n\n".join(parts)


def codes(known):
    return table(["code", "says", "lint"],
                 [[f"[{c['code']}](codes.md#{c['code'].lower()})", c["headline"],
                   f"`{c['lint']}`" if c.get("lint") else ""] for c in known["codes"]])


def with_blocks(text, blocks):
    for name, block in blocks.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text, count = pattern.subn(lambda found: found.group(1) + "\n" + block + "\n\n" + found.group(2), text)
        if count != 1:
            sys.exit(f"docs/language.md: the block {name} stands there {count} times, not once")
    return text


def codes_page(program, known):
    parts = ["# Codes\n\nWritten by `./dev docs` from `rlflow explain`. E are mistakes in a program, W lints, R failures "
             "of a run.\n"]
    for code in known["codes"]:
        parts.append(f"\n## {code['code']}\n```\n{rlflow(program, 'explain', code['code'])}```\n")
    return "".join(parts)


def main(program, out):
    known = json.loads(rlflow(program, "explain", "--json"))
    makers = {"nodes": nodes, "declarations": declarations, "functions": functions, "sources": sources, "codes": codes}
    language = (ROOT / "docs/language.md").read_text()
    (out / "language.md").write_text(with_blocks(language, {name: make(known) for name, make in makers.items()}))
    (out / "codes.md").write_text(codes_page(program, known))
    rlflow(program, "graph", "pipelines/tiny_grpo.rlflow", "-o", str(out / "tiny_grpo.svg"))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve())
