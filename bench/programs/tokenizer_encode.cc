// How many MB a second does a tokenizer write as ids? tokenizer_encode FOLDER TEXTS ROUNDS: TEXTS has texts
// joined by zero bytes. Prints one JSON line with the seconds of each round, the bytes, and the seconds that reading
// the folder took.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "nodes/format/tokenizer.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const double begin = now();
  const rlflow::Tokenizer tokenizer = rlflow::read_tokenizer(arguments[1]);
  const double read = now() - begin;
  std::vector<std::string> texts;
  std::size_t bytes = 0, ids = 0;
  std::ifstream file(arguments[2], std::ios::binary);
  for (std::string text; std::getline(file, text, '\0');) {
    bytes += text.size();
    texts.push_back(text);
  }
  std::string seconds;
  for (int round = 0; round < std::atoi(arguments[3]); ++round) {
    const double start = now();
    ids = 0;
    for (const std::string& text : texts) ids += tokenizer.encode(text).size();
    seconds += (round > 0 ? ", " : "") + std::to_string(now() - start);
  }
  std::printf("{\"bytes\": %zu, \"ids\": %zu, \"read_seconds\": %.4f, \"seconds\": [%s]}\n", bytes, ids, read,
              seconds.c_str());
}
