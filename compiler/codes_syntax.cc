// E01: the text cannot be read as a program.
#include "compiler/code_tables.h"

namespace rlflow {

std::span<const CodeInfo> syntax_codes() {
  static constexpr CodeInfo kCodes[] = {
      {"E0101", "", "expected SOMETHING, but `X` stands here",
       "The text breaks the grammar at the marked place. The message names what could stand there instead. Reading "
       "goes "
       "on at the next line, so several mistakes are told at once.",
       R"(adv : adv[B] = advantage(r) { estimator = = grpo })", R"(adv : adv[B] = advantage(r) { estimator = grpo })"},
      {"E0102", "", "`(` is never closed",
       "Inside ( ) and [ ] a line may end, so an open bracket swallows what follows. A `{`, `}`, `:` or `->` cannot "
       "stand "
       "inside, and shows that the bracket was left open; so does a declaration inside an open `{`.",
       R"(batch : prompts[P] = take(train, 32)"
       "\n"
       R"(traj : traj[B, T] = rollout(sampler, batch, n=8) { max_new = 34 })",
       R"(batch : prompts[P] = take(train, 32))"},
      {"E0103", "", "this string is never closed", "A string ends with `\"` on the line on which it begins.",
       R"(reward exact = builtin("exact_answer))", R"(reward exact = builtin("exact_answer"))"},
      {"E0104", "", "a program cannot hold the character `X`",
       "Outside strings and comments a program is made of ASCII letters, digits and the signs of the grammar.",
       R"(batch : prompts[P] = take(train, 32);)", R"(batch : prompts[P] = take(train, 32))"},
      {"E0105", "", "a program begins with `rlflow 1`",
       "The first statement names the version of the language, so that old programs keep their meaning.", R"(rlflow 2)",
       R"(rlflow 1)"},
      {"E0106", "", "this program is empty", "There is nothing in the file but white space and comments.", "", ""},
      {"E0107", "", "this file is not UTF-8 text",
       "A program is UTF-8 text without zero bytes. Is it a binary file, or saved in another encoding?", "", ""},
      {"E0108", "", "a program has at most 1 MiB", "Data belongs into files that the program names.", "", ""},
      {"E0109", "", "brackets are nested more than 64 deep",
       "Deep nesting is refused before it is read. Give an inner part a name of its own: a `param` or a node.", "", ""},
      {"E0110", "", "`X` is a word of the language and cannot be a name",
       "Declaration words and words of the flow are reserved, and some are kept for later versions (use, buffer, env, "
       "def). They may still stand as a type, a setting or a setting's value.",
       R"(reward model = builtin("exact_answer"))", R"(reward judge = builtin("exact_answer"))"},
      {"E0111", "", "cannot read `FILE`", "The program does not exist or may not be read.", "", ""},
      {"E0112", "", "a string has no escape `\\X`", "The escapes are \\n \\t \\\" \\\\ and \\u{...} with hex digits.",
       R"(reward exact = builtin("exact\_answer"))", R"(reward exact = builtin("exact_answer"))"},
      {"E0113", "", "`X` is too large for a number", "Whole numbers have 64 bits, others are double precision.",
       R"(batch : prompts[P] = take(train, 99999999999999999999))", R"(batch : prompts[P] = take(train, 32))"},
      {"E0114", "", "there is no unit `X`", "The units are tokens, seqs, steps, ms, s, m, h, B, KiB, MiB and GiB.",
       R"(r : reward[B] = score(exact, traj) { timeout = 5 sec })",
       R"(r : reward[B] = score(exact, traj) { timeout = 5s })"},
  };
  return kCodes;
}

}  // namespace rlflow
