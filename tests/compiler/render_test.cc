// Does a message look in the terminal as the language reference shows it?
#include <gtest/gtest.h>

#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

// The example of the reference: a program of 16 lines whose last node gets the wrong input.
constexpr const char* kProgram = R"(rlflow 1
group   here    = cpu
model   policy  = load("models/tiny") on here { trainable, optim = adamw(lr=1e-4) }
replica sampler = policy on here
data    train   = builtin("addition")
reward  exact   = builtin("exact_answer")




flow grpo {
  batch : prompts[P] = take(train, 32)
  traj  : traj[B, T] = rollout(sampler, batch, n=8) { max_new = 34 }
  r     : reward[B]  = score(exact, traj)
  old   : logp[B, T] = logprob(policy, traj)
  adv   : adv[B]     = advantage(old) { estimator = grpo }
  step               = update(policy, traj, adv, old=old)
  sync policy -> sampler every 1 step lag 0
  stop after 10
}
)";

std::string first_message(const std::string& text, std::vector<std::string> overrides = {}, bool colour = false) {
  CompileRequest request = request_for(text, project_root("render"));
  request.path = "grpo.rlflow";
  request.texts = {{"grpo.rlflow", text}};
  request.overrides = std::move(overrides);
  const Catalog known = catalog();
  Analysis analysis = analyze(request, known);
  if (analysis.diagnostics.empty()) return "no message";
  RenderOptions options;
  options.colour = colour;
  return render(analysis.diagnostics[0], analysis.sources, options);
}

TEST(Render, TheExampleOfTheReference) {
  EXPECT_EQ(first_message(kProgram),
            R"(error[E0301]: `advantage` needs a reward, but `old` is log-probabilities
  --> grpo.rlflow:16:34
   |
15 |   old   : logp[B, T] = logprob(policy, traj)
   |                        ------- made here
16 |   adv   : adv[B]     = advantage(old) { estimator = grpo }
   |                                  ^^^ logp f32[B, T], one number per token
   |
   = note: the first input of `advantage` is reward f32[B], one number per response
   = help: `r` is a reward of this flow: `advantage(r)`
)");
}

TEST(Render, LinesApartAreJoinedByDotsAndAPlaceWithoutNotesEndsAtItsCarets) {
  std::string text = kProgram;
  text.replace(text.find("advantage(old)"), 14, "advantage(r)");
  text.replace(text.find("  stop after"), 0, "  sync policy -> sampler every 1 step lag 0\n");
  EXPECT_EQ(first_message(text), R"(error[E0412]: `sampler` has a second `sync`
  --> grpo.rlflow:19:3
   |
18 |   sync policy -> sampler every 1 step lag 0
   |   ----------------------------------------- the first
19 |   sync policy -> sampler every 1 step lag 0
   |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
)");
}

TEST(Render, TheCommandLineHasNoLines) {
  std::string text = kProgram;
  text.replace(text.find("advantage(old)"), 14, "advantage(r)");
  text.replace(text.find("group   here"), 0, "param samples : int = 8 in 2..64\n");
  text.replace(text.find("n=8"), 3, "n=samples");
  EXPECT_EQ(first_message(text, {"sample=16"}), R"(error[E0203]: no parameter `sample`
 --> <command line>
  |
  | sample=16
  | ^^^^^^
  |
  = help: did you mean `samples` (int, 2 to 64, now 8)?
)");
}

TEST(Render, TabsAreFourColumnsAndColumnsCountCodePoints) {
  EXPECT_EQ(first_message("rlflow 1\nparam a : string = \"\xC3\xA9\" \t; \n"),
            "error[E0104]: a program cannot hold the character `;`\n"
            " --> grpo.rlflow:2:25\n"
            "  |\n"
            "2 | param a : string = \"\xC3\xA9\"     ; \n"
            "  |                            ^\n"
            "  |\n"
            "  = help: a statement ends with its line, and `,` separates settings\n");
}

// A column of the place counts characters; the carets stand where the terminal prints them.
TEST(Render, WideCharactersAndAccentsKeepTheCaretsInPlace) {
  std::string message = first_message("rlflow 1\nparam a : string = \"\xE6\xAD\xA5 e\xCC\x81\" x\n");
  EXPECT_NE(message.find(" --> grpo.rlflow:2:27\n"), std::string::npos) << message;
  EXPECT_NE(message.find("2 | param a : string = \"\xE6\xAD\xA5 e\xCC\x81\" x\n"
                         "  |                           ^ expected"),
            std::string::npos)
      << message;
}

TEST(Render, WhatIsInvisibleOrTurnsTheTextAroundIsShownAsADot) {
  std::string message = first_message("rlflow 1\nparam a : int = \xE2\x80\xAE 1\n");
  EXPECT_NE(message.find("a program cannot hold the character U+202E"), std::string::npos) << message;
  EXPECT_NE(message.find("2 | param a : int = \xC2\xB7 1\n"), std::string::npos) << message;
}

TEST(Render, AByteOrderMarkIsNoPartOfTheFirstLine) {
  std::string message = first_message("\xEF\xBB\xBFrlflw 1\n");
  EXPECT_NE(message.find(" --> grpo.rlflow:1:1\n  |\n1 | rlflw 1\n  | ^^^^^\n"), std::string::npos) << message;
}

TEST(Render, NamesInAHeadlineAreCutAndLabelsOfOneLineStandUnderEachOther) {
  std::string message = first_message("rlflow 1\nparam a : int = " + std::string(300, 'b') + "\n");
  EXPECT_TRUE(message.starts_with("error[E0201]: there is no parameter `" + std::string(37, 'b') + "...`\n"))
      << message;
}

// Found with `check /bin/ls`: the message printed thousands of unprintable characters.
TEST(Render, BinaryFilesAreNotShown) {
  std::string message =
      first_message(std::string("\x7f"
                                "ELF\x02\0\0\0",
                                8));
  EXPECT_NE(message.find("error[E0107]"), std::string::npos) << message;
  EXPECT_EQ(message.find("ELF"), std::string::npos) << message;
}

TEST(Render, LongLinesAreNamedNotShown) {
  std::string message = first_message("rlflow 1\ngrup here = cpu #" + std::string(4983, 'x') + "\n");
  EXPECT_NE(message.find("(a line of 5,000 bytes)"), std::string::npos) << message;
  EXPECT_LT(message.size(), 1000u);
}

TEST(Render, ColourIsOnlyAdded) {
  std::string plain = first_message(kProgram);
  std::string coloured = first_message(kProgram, {}, true);
  std::string stripped;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b')
      i = coloured.find('m', i);
    else
      stripped += coloured[i];
  }
  EXPECT_NE(plain, coloured);
  EXPECT_EQ(plain, stripped);
}

TEST(Render, ManyMessagesEndInACount) {
  std::string text = "rlflow 1\n";
  for (int i = 0; i < 30; ++i) text += "param a" + std::to_string(i) + " : int = 1.5\n";
  const Catalog known = catalog();
  Analysis analysis = analyze(request_for(text, project_root("render")), known);
  RenderOptions options;
  options.at_most = 20;
  std::string all = render_all(analysis.diagnostics, analysis.sources, options);
  EXPECT_NE(all.find("\nand 10 more\n30 errors\n"), std::string::npos) << all;
}

}  // namespace
}  // namespace rlflow::testing
