// Whatever the text: no crash, an end, and every span inside its file.
#include <gtest/gtest.h>

#include <random>

#include "compiler/dump.h"
#include "compiler/format.h"
#include "compiler/parse.h"
#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

// How many mutants a program gets; sanitizers make each about ten times slower.
#ifdef __SANITIZE_ADDRESS__
constexpr int kMutants = 12;
#else
constexpr int kMutants = 60;
#endif

std::size_t below(std::mt19937& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

std::string mutate_tokens(std::string text, std::mt19937& random) {
  std::vector<Token> tokens = tokenize(text);
  if (tokens.empty()) return text;
  const Token& token = tokens[below(random, tokens.size())];
  const Token& other = tokens[below(random, tokens.size())];
  std::string word = text.substr(other.begin, other.end - other.begin);
  switch (random() % 3) {
    case 0: return text.erase(token.begin, token.end - token.begin);
    case 1: return text.insert(token.begin, word + " ");
    default: return text.replace(token.begin, token.end - token.begin, word);
  }
}

std::string mutate_bytes(std::string text, std::mt19937& random) {
  std::size_t at = below(random, text.size());
  switch (random() % 3) {
    case 0: return text.erase(at, 1 + below(random, 40));
    case 1: return text.insert(at, 1, static_cast<char>(random() % 256));
    default: text[at] = "(){}[]=,:\"\n->#"[random() % 14]; return text;
  }
}

void expect_inside(Span span, const SourceMap& sources) {
  ASSERT_TRUE(span.valid());
  ASSERT_LT(span.file.index(), sources.size());
  EXPECT_LE(span.begin, span.end);
  EXPECT_LE(span.end, sources.file(span.file).text.size());
}

void try_program(const std::string& text, const Catalog& known, const std::string& root) {
  CompileRequest request = request_for(text, root);
  request.mode = CompileMode::run;
  request.texts["common/gsm8k.rlflow"] = "rlflow 1\nparam samples : int = 8\n";
  Compilation result = compile(request, known);
  for (const Diagnostic& diagnostic : result.analysis.diagnostics) {
    expect_inside(diagnostic.primary, result.analysis.sources);
    for (const Label& label : diagnostic.labels) expect_inside(label.span, result.analysis.sources);
    for (const Fix& fix : diagnostic.fixes) {
      for (const Edit& edit : fix.edits) expect_inside(edit.span, result.analysis.sources);
    }
    EXPECT_FALSE(render(diagnostic, result.analysis.sources).empty());
  }
  EXPECT_FALSE(dump(result.analysis.pipeline).empty());
  if (std::optional<std::string> formatted = format_source(text)) {
    EXPECT_EQ(format_source(*formatted), formatted) << *formatted;
  }
}

TEST(Fuzz, MutantsOfEveryProgramAreSurvived) {
  const Catalog known = catalog();
  const std::string root = project_root("fuzz");
  std::mt19937 random(20240607);
  for (const fs::path& path : all_programs()) {
    const std::string original = read_file(path);
    for (int i = 0; i < kMutants; ++i) {
      std::string text = original;
      for (std::size_t times = 1 + below(random, 3); times > 0 && !text.empty(); --times) {
        text = random() % 2 == 0 ? mutate_tokens(text, random) : mutate_bytes(text, random);
      }
      try_program(text, known, root);
      if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << path << ", mutant " << i << ":\n" << text;
    }
  }
}

TEST(Fuzz, FormattingNeverChangesWhatIsWritten) {
  std::mt19937 random(7);
  for (const fs::path& path : all_programs()) {
    for (int i = 0; i < kMutants; ++i) {
      std::string text = mutate_tokens(read_file(path), random);
      std::optional<std::string> formatted = format_source(text);
      if (!formatted) continue;
      SourceMap sources;
      Diagnostics diagnostics;
      std::string before = dump(parse_file(sources.add("a", text), sources, diagnostics));
      EXPECT_EQ(dump(parse_file(sources.add("b", *formatted), sources, diagnostics)), before) << text << "\n"
                                                                                              << *formatted;
    }
  }
}

}  // namespace
}  // namespace rlflow::testing
