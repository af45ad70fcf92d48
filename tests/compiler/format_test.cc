// Does the formatter keep the program, settle after one pass, and write the canonical form?
#include <gtest/gtest.h>

#include "compiler/dump.h"
#include "compiler/format.h"
#include "compiler/parse.h"
#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

std::string tree_of(const std::string& text) {
  SourceMap sources;
  Diagnostics diagnostics;
  FileId file = sources.add("x", text);
  return dump(parse_file(file, sources, diagnostics));
}

TEST(Format, KeepsEveryProgramAndIsIdempotent) {
  for (const fs::path& path : all_programs()) {
    std::string text = read_file(path);
    std::optional<std::string> once = format_source(text);
    ASSERT_TRUE(once.has_value()) << path;
    EXPECT_EQ(tree_of(*once), tree_of(text)) << path;
    EXPECT_EQ(format_source(*once), once) << path;
  }
}

TEST(Format, WritesTheCanonicalForm) {
  std::string input =
      "rlflow   1\r\n\n\n# about\nparam a:int=1 in 1 .. 3   \"doc\"  # first\nparam bbb : float=- 0.5\n\n\n\n"
      "param m:word=x in {x\n y}\n"
      "flow f{\n\n"
      "batch:prompts[ P ]=take( train ,32 )\n"
      "x , y=foo( batch,n = 2*( a+1 ),\n  k=[1,2 ,3] ){t=5 s, b=4 tokens ,\n c}   # trailing\n"
      "zz=bar(x){\n one=1, three =3\n  # why\n flag\n}\n"
      "every 10 steps and at start{e=baz(x){n=1}}\n"
      "sync p->q every 1 step lag<=1\n"
      "stop after 5 }\n";
  EXPECT_EQ(format_source(input).value_or("broken"),
            "rlflow 1\n\n# about\n"
            "param a   : int   = 1 in 1..3 \"doc\"  # first\n"
            "param bbb : float = -0.5\n\n"
            "param m : word = x in {x, y}\n"
            "flow f {\n"
            "  batch : prompts[P] = take(train, 32)\n"
            "  x, y               = foo(batch, n=2 * (a + 1),\n"
            "    k=[1, 2, 3]) { t = 5s, b = 4 tokens, c }  # trailing\n"
            "  zz                 = bar(x) {\n"
            "    one   = 1\n"
            "    three = 3\n"
            "    # why\n"
            "    flag\n"
            "  }\n"
            "  every 10 steps and at start { e = baz(x) { n = 1 } }\n"
            "  sync p -> q every 1 step lag <= 1\n"
            "  stop after 5\n"
            "}\n");
}

TEST(Format, ACommentInsideBracesPutsThemOnLines) {
  std::string input = "rlflow 1\nflow f {\n  x = foo(a) { b = 1, # why\n c = 2 }\n  stop after 1\n}\n";
  EXPECT_EQ(format_source(input).value_or("broken"),
            "rlflow 1\nflow f {\n  x = foo(a) {\n    b = 1  # why\n    c = 2\n  }\n  stop after 1\n}\n");
}

TEST(Format, LeavesBrokenTextAlone) {
  EXPECT_EQ(format_source("rlflow 1\nparam a : int = \n"), std::nullopt);
  EXPECT_EQ(format_source(""), std::nullopt);
}

}  // namespace
}  // namespace rlflow::testing
