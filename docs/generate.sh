#!/usr/bin/env bash
# Writes the parts of docs/ that come from the program itself: node reference, codes, the picture of the README.
set -euo pipefail
cd "$(dirname "$0")/.."
rlflow=build/rlflow

{
  echo "# Nodes, data and rewards"
  echo
  echo "Written by \`./dev docs\` from \`rlflow explain\`; the tables of nodes/signatures/ are their only source."
  for subject in take take_examples take_pairs rollout score combine logprob value kl_penalty adapt_kl advantage filter \
    update evaluate checkpoint model group adamw addition exact_answer; do
    printf '\n## %s\n```\n' "$subject"
    COLUMNS=100 $rlflow --color=never explain "$subject"
    printf '```\n'
  done
} >docs/nodes.md

{
  echo "# Codes"
  echo
  echo "Written by \`./dev docs\` from \`rlflow explain\`. E are mistakes in a program, W lints, R failures of a run."
  $rlflow --color=never explain | awk '/^[EWR][0-9][0-9][0-9][0-9] /{print $1}' | while read -r code; do
    printf '\n## %s\n```\n' "$code"
    $rlflow --color=never explain "$code"
    printf '```\n'
  done
} >docs/codes.md

$rlflow -q graph pipelines/tiny_grpo.rlflow -o docs/tiny_grpo.svg
