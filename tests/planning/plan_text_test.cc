// Does the text of a plan stay as it was reviewed, within 100 columns? RLFLOW_UPDATE=1 writes the golden files anew.
#include "cli/planning/plan_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/table.h"
#include "compiler/compile.h"
#include "nodes/format/machine.h"
#include "nodes/signatures/catalog.h"

namespace rlflow::testing {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A project whose models are a Qwen2.5-0.5B, so that every figure is known.
fs::path project() {
  fs::path folder = fs::path(RLFLOW_BINARY_DIR) / "plan_text_tests";
  for (const char* model : {"models/base", "models/judge"}) {
    fs::create_directories(folder / model);
    std::ofstream(folder / model / "config.json")
        << R"({"model_type": "qwen2", "vocab_size": 151936, "eos_token_id": 151643,
      "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
      "num_key_value_heads": 2, "max_position_embeddings": 32768, "tie_word_embeddings": true})";
  }
  fs::create_directories(folder / "models/tiny");
  fs::copy_file(fs::path(RLFLOW_SOURCE_DIR) / "models/tiny/config.json", folder / "models/tiny/config.json",
                fs::copy_options::overwrite_existing);
  fs::copy(fs::path(RLFLOW_SOURCE_DIR) / "pipelines", folder,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  return folder;
}

void compare(const std::string& name, const fs::path& program, const fs::path& root, const std::string& machine_file) {
  const Catalog known = catalog();
  CompileRequest request;
  request.path = program.string();
  request.root = root.string();
  Compilation compilation = compile(request, known);
  ASSERT_TRUE(compilation.plan) << render_all(compilation.analysis.diagnostics, compilation.analysis.sources);
  Machine machine{read_machine(fs::path(RLFLOW_SOURCE_DIR) / "pipelines/machines" / machine_file), "from a file", {}};
  add_default_rates(machine.cluster);
  std::string text =
      machine_text(machine) + "\n" + figures_text(*compilation.plan, figures_of(*compilation.plan, machine.cluster));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(code_points(line), 100u) << line;
  fs::path golden = fs::path(RLFLOW_SOURCE_DIR) / "tests/planning" / (name + ".plan.txt");
  if (std::getenv("RLFLOW_UPDATE") != nullptr) std::ofstream(golden) << text;
  EXPECT_EQ(text, read(golden)) << "run with RLFLOW_UPDATE=1 and review the difference";
}

const fs::path kPrograms = fs::path(RLFLOW_SOURCE_DIR) / "pipelines";

TEST(PlanText, Ppo) { compare("ppo", project() / "ppo.rlflow", project(), "h200x8.json"); }
TEST(PlanText, GrpoAsync) { compare("grpo_async", project() / "grpo_async.rlflow", project(), "h200x8.json"); }
TEST(PlanText, TinyGrpo) { compare("tiny_grpo", project() / "tiny_grpo.rlflow", project(), "laptop.json"); }
TEST(PlanText, TinySft) { compare("tiny_sft", project() / "tiny_sft.rlflow", project(), "laptop.json"); }
TEST(PlanText, ModelsThatAreNotThere) {
  compare("unknown_models", kPrograms / "ppo.rlflow", fs::path(RLFLOW_BINARY_DIR) / "planning_nothing", "h200x8.json");
}

}  // namespace
}  // namespace rlflow::testing
