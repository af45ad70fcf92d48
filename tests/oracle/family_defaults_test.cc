// Does config.json mean here what it means in transformers, absent keys and both dialects included? Needs
// RLFLOW_ORACLE_PYTHON; skipped where it is not set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/format/model_config.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void expect_rope(const RopeParameters& got, const Json& wanted, const std::string& text) {
  EXPECT_EQ(got.theta, wanted["rope_theta"].get<double>()) << text;
  const std::string type = wanted["rope_type"];
  EXPECT_EQ(got.scaling == RopeScaling::none, type == "default") << text;
  EXPECT_EQ(got.scaling == RopeScaling::linear, type == "linear") << text;
  if (type == "default") return;
  EXPECT_EQ(got.factor, wanted["factor"].get<double>()) << text;
  if (type != "llama3") return;
  EXPECT_EQ(got.low_freq_factor, wanted["low_freq_factor"].get<double>()) << text;
  EXPECT_EQ(got.high_freq_factor, wanted["high_freq_factor"].get<double>()) << text;
  EXPECT_EQ(got.original_positions, wanted["original_max_position_embeddings"].get<std::int64_t>()) << text;
}

void expect_resolved(const std::string& text, const Json& wanted) {
  const ModelConfig config = parse_model_config(text);
  EXPECT_EQ(config.kv_heads, wanted["kv_heads"].get<std::int64_t>()) << text;
  EXPECT_EQ(config.head_dim, wanted["head_dim"].get<std::int64_t>()) << text;
  EXPECT_EQ(config.max_positions, wanted["max_positions"].get<std::int64_t>()) << text;
  EXPECT_EQ(config.rms_norm_eps, wanted["rms_norm_eps"].get<double>()) << text;
  EXPECT_EQ(config.initializer_range, wanted["initializer_range"].get<double>()) << text;
  EXPECT_EQ(config.query_scalar, wanted["query_scalar"].get<double>()) << text;
  EXPECT_EQ(config.tie_word_embeddings, wanted["tied"].get<bool>()) << text;
  EXPECT_EQ(config.output_bias, wanted["bias"].get<bool>()) << text;
  EXPECT_EQ(config.mlp_bias, wanted["mlp_bias"].get<bool>()) << text;
  EXPECT_EQ(config.activation == Activation::silu, wanted["activation"] == "silu") << text;
  EXPECT_EQ(config.window, wanted["window"].get<std::int64_t>()) << text;
  ASSERT_EQ(config.sliding.size(), wanted["sliding"].size()) << text;
  for (std::size_t i = 0; i < config.sliding.size(); ++i) {
    EXPECT_EQ(config.sliding[i] != 0, wanted["sliding"][i].get<bool>()) << text << " layer " << i;
  }
  expect_rope(config.rope, wanted["full"], text);
  expect_rope(config.local_rope, wanted["local"], text);
}

// An end id that no file names is the family's.
void expect_end_id(const fs::path& folder, const std::string& text, const Json& eos) {
  std::ofstream(folder / "config.json") << text;
  if (eos.is_null()) {
    EXPECT_THROW(read_model_config(folder), FormatError) << text;
  } else {
    EXPECT_EQ(read_model_config(folder).end_ids, std::vector<std::int32_t>{eos.get<std::int32_t>()}) << text;
  }
}

TEST(FamilyDefaults, AreThoseOfTransformers) {
  const char* python = std::getenv("RLFLOW_ORACLE_PYTHON");
  if (!python) GTEST_SKIP() << "RLFLOW_ORACLE_PYTHON is not set: nothing to compare with";
  const fs::path folder = fs::path(RLFLOW_BINARY_DIR) / "oracle/defaults";
  fs::create_directories(folder);
  const std::string command = std::string(python) + " " + RLFLOW_SOURCE_DIR + "/tests/oracle/family_defaults.py " +
                              (folder / "cases.json").string();
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const Json cases = Json::parse(read_text_file(folder / "cases.json", 1 << 20));
  ASSERT_GE(cases.size(), 16u);
  for (const Json& one : cases) {
    expect_resolved(one["written"], one["resolved"]);
    expect_end_id(folder, one["written"], one["resolved"]["eos"]);
  }
}

}  // namespace
}  // namespace rlflow
