"""Makes a reward program of rlflow out of one function. Standard library only; Python 3.8 or newer.

    from rlflow_reward import serve

    def reward(prompts, completions, **columns):
        return [1.0 if text.strip() == answer else 0.0 for text, answer in zip(completions, columns["answer"])]

    serve(reward)

The function has the shape that TRL uses: lists of prompts and of completions, and every other column as a keyword with
a list: the fields of the data row, `answer` (what the data set's `answer` setting names), and `ended` (False: the
response was cut off). It returns one number a completion. What it prints goes to the log of the worker, never into a
reply. An exception, a wrong number of rewards, or a reward that is no finite number is an error of these responses;
rlflow then asks for each of them alone, again as often as `retry` says, and never takes 0 instead.
"""
import json
import math
import os
import sys
import traceback

LONGEST_ERROR = 4000


def serve(function):
    """Answers requests until rlflow ends the process."""
    requests = os.fdopen(int(os.environ["RLFLOW_REQUESTS"]), "r", encoding="utf-8", newline="\n")
    replies = os.fdopen(int(os.environ["RLFLOW_REPLIES"]), "w", encoding="utf-8", newline="\n")
    batch = []
    for line in requests:
        request = json.loads(line)
        batch.append(request)
        if request["more"] > 0:
            continue
        for reply in judged(function, batch):
            replies.write(json.dumps(reply) + "\n")
        replies.flush()
        sys.stdout.flush()
        batch = []


def judged(function, batch):
    """The replies to one batch of requests."""
    try:
        rewards = function([request["prompt"] for request in batch], [request["response"] for request in batch],
                           **columns_of(batch))
        rewards = list(rewards)
        if len(rewards) != len(batch):
            raise ValueError(f"{len(rewards)} rewards for {len(batch)} completions")
    except Exception as problem:
        own = problem.__traceback__.tb_next or problem.__traceback__  # without this file's line
        error = "".join(traceback.format_exception(type(problem), problem, own))[-LONGEST_ERROR:]
        return [{"id": request["id"], "error": error} for request in batch]
    return [reply_to(request["id"], reward) for request, reward in zip(batch, rewards)]


def columns_of(batch):
    """Every field that all rows have, with `answer` and `ended`, as lists."""
    rows = [{**request["row"], "answer": request["answer"], "ended": request["ended"]} for request in batch]
    names = [name for name in rows[0] if name not in ("prompts", "completions") and all(name in row for row in rows)]
    return {name: [row[name] for row in rows] for name in names}


def reply_to(number, reward):
    """A number as JSON knows it; numpy's and torch's scalars become one."""
    if reward is None or isinstance(reward, (str, bytes)):
        return {"id": number, "error": f"the function gave {reward!r} instead of a number"}
    try:
        value = float(reward)
    except (TypeError, ValueError) as error:
        return {"id": number, "error": f"the function gave {type(reward).__name__} instead of a number: {error}"}
    if not math.isfinite(value):
        return {"id": number, "error": f"the function gave {value}"}
    return {"id": number, "reward": value}
