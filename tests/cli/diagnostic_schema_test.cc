// Does `check --json` print what the language reference says, no more and no less, of every golden case?
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/cli/program_under_test.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kCases = fs::path(RLFLOW_SOURCE_DIR) / "tests/compiler/cases";

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

using Keys = std::set<std::string>;

// Lines and columns of code points from 1, bytes from 0; a byte order mark stands in front of line 1.
void check_position(const json& position, const std::string& text) {
  EXPECT_EQ(keys_of(position), (Keys{"line", "col", "byte"}));
  std::size_t byte = position.at("byte");
  ASSERT_LE(byte, text.size());
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < byte; ++i) {
    bool newline = text[i] == '\n';
    line += newline ? 1 : 0;
    column = newline ? 1 : column + ((text[i] & 0xC0) == 0x80 ? 0 : 1);
  }
  EXPECT_EQ(position.at("line"), line);
  EXPECT_EQ(position.at("col"), column);
}

void check_span(const json& span) {
  EXPECT_EQ(keys_of(span), (Keys{"file", "start", "end"}));
  std::string file = span.at("file");
  EXPECT_LE(span.at("start").at("byte"), span.at("end").at("byte"));
  if (file == "<command line>") return;
  std::string text = read_file((kCases / file).string());
  check_position(span.at("start"), text);
  check_position(span.at("end"), text);
}

void check_diagnostic(const json& diagnostic) {
  EXPECT_EQ(keys_of(diagnostic),
            (Keys{"code", "level", "message", "primary", "labels", "notes", "values", "fixes", "rendered"}));
  EXPECT_EQ(diagnostic.at("code").get<std::string>().size(), 5u);
  EXPECT_TRUE(diagnostic.at("level") == "error" || diagnostic.at("level") == "warning");
  check_span(diagnostic.at("primary"));
  for (const json& label : diagnostic.at("labels")) {
    EXPECT_EQ(keys_of(label), (Keys{"span", "text"}));
    check_span(label.at("span"));
    EXPECT_TRUE(label.at("text").is_string());
  }
  for (const json& note : diagnostic.at("notes")) EXPECT_TRUE(note.is_string());
  EXPECT_TRUE(diagnostic.at("values").is_object());
  for (const json& fix : diagnostic.at("fixes")) {
    EXPECT_EQ(keys_of(fix), (Keys{"title", "applicability", "edits"}));
    EXPECT_EQ((Keys{"safe", "likely", "guess"}).count(fix.at("applicability")), 1u);
    for (const json& edit : fix.at("edits")) {
      EXPECT_EQ(keys_of(edit), (Keys{"span", "text"}));
      check_span(edit.at("span"));
    }
  }
  std::string rendered = diagnostic.at("rendered");
  EXPECT_TRUE(rendered.starts_with(diagnostic.at("level").get<std::string>() + "[" +
                                   diagnostic.at("code").get<std::string>() +
                                   "]: " + diagnostic.at("message").get<std::string>() + "\n"));
  EXPECT_EQ(rendered.find('\x1B'), std::string::npos);
}

TEST(DiagnosticSchema, EveryGoldenCaseKeepsIt) {
  std::size_t diagnostics = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kCases)) {
    if (entry.path().extension() != ".rlflow") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ProcessResult result = rlflow({"check", "--json", "-s", "no_such=1", entry.path().filename()}, kCases.string());
    json object = json_of(result);
    EXPECT_EQ(keys_of(object), (Keys{"format", "ok", "errors", "warnings", "diagnostics"}));
    EXPECT_EQ(object.at("format"), "rlflow.diag/1");
    EXPECT_EQ(object.at("ok"), object.at("errors") == 0);
    EXPECT_EQ(result.exit_code, object.at("ok").get<bool>() ? 0 : 1);
    std::size_t errors = 0;
    for (const json& diagnostic : object.at("diagnostics")) {
      check_diagnostic(diagnostic);
      errors += diagnostic.at("level") == "error" ? 1 : 0;
      ++diagnostics;
    }
    EXPECT_EQ(object.at("errors"), errors);
    EXPECT_EQ(object.at("warnings"), object.at("diagnostics").size() - errors);
  }
  EXPECT_GT(diagnostics, 100u);
}

}  // namespace
}  // namespace rlflow::testing
