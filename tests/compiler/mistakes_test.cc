// Does each mistake that a person might make in a real program get the message that was judged good for it?
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/compiler/mistakes.h"

namespace rlflow::testing {
namespace {

// The file as it should be: heads as they are, messages as they are given now.
std::string rewritten(const std::vector<Mistake>& mistakes, const Catalog& known) {
  std::string text;
  for (const Mistake& mistake : mistakes) {
    text += (text.empty() ? "## " : "\n## ") + mistake.name + "\n";
    for (const std::string& line : mistake.head) text += line + "\n";
    text += "\n" + messages_of(analyze_mistake(mistake, known));
  }
  return text;
}

// `./dev golden` writes the files anew; read the difference aloud before committing it.
TEST(Mistakes, GiveTheirMessagesWordForWord) {
  const Catalog known = catalog();
  std::size_t count = 0;
  for (const fs::path& file : mistake_files()) {
    std::vector<Mistake> mistakes = read_mistakes(file);
    count += mistakes.size();
    std::string now = rewritten(mistakes, known);
    if (std::getenv("RLFLOW_WRITE_GOLDEN") != nullptr) std::ofstream(file, std::ios::binary) << now;
    EXPECT_EQ(read_file(file), now) << file.filename() << ": run ./dev golden and read the difference";
  }
  EXPECT_GT(count, 30u);
}

}  // namespace
}  // namespace rlflow::testing
