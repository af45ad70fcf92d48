"""1 for the right sum: what follows the last `>` of a response that ended. The reward of tiny_exec_reward.rlflow."""
from rlflow_reward import serve


def reward(prompts, completions, answer, ended, **columns):
    sums = [text.rpartition(">")[2] for text in completions]
    return [float(whole and found == right) for found, right, whole in zip(sums, answer, ended)]


serve(reward)
