// Are damaged, lying and incomplete folders of weights refused by name, before memory is taken?
#include "nodes/format/weight_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/tensor_file.h"
#include "nodes/model/weights_export.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Json = nlohmann::json;

const fs::path kTiny = fs::path(RLFLOW_SOURCE_DIR) / "models/tiny";

// The tiny model in several files of at most 200,000 bytes.
class Shards : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / "rlflow_shards_test";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    model_ = CpuModel::draw(kTiny, 3, 1);
    fs::copy_file(kTiny / "config.json", folder_ / "config.json");
    write(views());
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<TensorView> views() const { return slot_views(model_->layout(), model_->parameters(), ""); }
  void write(const std::vector<TensorView>& tensors, std::uint64_t largest = 200'000) {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("model")) fs::remove(entry.path());
    }
    write_weights(folder_, tensors, largest);
  }
  fs::path shard(int i) const { return folder_ / ("model-0000" + std::to_string(i) + "-of-00005.safetensors"); }
  fs::path index_path() const { return folder_ / "model.safetensors.index.json"; }
  Json index() const { return Json::parse(read_text_file(index_path(), 1 << 20)); }
  void set_index(const Json& index) { std::ofstream(index_path()) << index.dump(); }
  void expect_refused(const std::string& reason, Head head = Head::lm) {
    EXPECT_THAT([&] { CpuModel::load_folder(folder_, 1, head); }, ThrowsMessage<FormatError>(HasSubstr(reason)));
  }

  fs::path folder_;
  std::unique_ptr<CpuModel> model_;
};

TEST_F(Shards, LoadAsTheModelTheyWereWrittenFrom) {
  EXPECT_EQ(WeightFiles(folder_).paths().size(), 5u);
  EXPECT_TRUE(CpuModel::load_folder(folder_, 1)->weights_digest() == model_->weights_digest());
  std::uint64_t total = 0;
  for (const TensorView& view : views()) total += view.data.size();
  EXPECT_EQ(index()["metadata"]["total_size"], total);
  EXPECT_EQ(weight_paths(folder_).size(), 6u);
}

TEST_F(Shards, AMissingOrCutFileIsNamed) {
  const auto size = fs::file_size(shard(3));
  for (std::uintmax_t kept = 0; kept < size; kept += 1 + size / 50) {
    fs::resize_file(shard(3), kept);
    expect_refused("model-00003-of-00005.safetensors");
    write(views());
  }
  fs::remove(shard(2));
  expect_refused("cannot read " + shard(2).string());
}

TEST_F(Shards, AnIndexThatDisagreesWithItsFilesIsRefused) {
  const Json right = index();
  Json wrong = right;
  wrong["weight_map"]["model.norm.weight"] = shard(1).filename().string();
  set_index(wrong);
  expect_refused("weight_map does not have \"model.norm.weight\" in model-00005-of-00005.safetensors");
  wrong = right;
  wrong["weight_map"].erase("model.norm.weight");
  set_index(wrong);
  expect_refused("weight_map does not have \"model.norm.weight\"");
  wrong = right;
  wrong["weight_map"]["ghost"] = shard(1).filename().string();
  set_index(wrong);
  expect_refused("tensor \"ghost\" does not stand in model-00001-of-00005.safetensors");
  for (const Json& place : {Json("../model.safetensors"), Json("/etc/passwd"), Json("x.bin"), Json(1)}) {
    wrong = right;
    wrong["weight_map"]["model.norm.weight"] = place;
    set_index(wrong);
    expect_refused("must be the name of a .safetensors file in the folder");
  }
  set_index(Json::object());
  expect_refused("has no weight_map");
  std::ofstream(index_path()) << R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})";
  expect_refused("stands twice");
}

TEST_F(Shards, ATensorInTwoFilesIsRefused) {
  Json twice = index();
  fs::copy_file(shard(1), folder_ / "again.safetensors");
  twice["weight_map"]["model.embed_tokens.weight"] = "again.safetensors";
  set_index(twice);
  expect_refused(" in again.safetensors, where it stands");
  fs::remove(folder_ / "again.safetensors");
  const std::vector<TensorView> tensors = views();
  fs::create_directories(folder_ / "other");
  write_weights(folder_ / "other", {tensors[0]}, 1'000'000);
  fs::rename(folder_ / "other/model.safetensors", folder_ / "again.safetensors");
  set_index(twice);
  expect_refused("\"model.embed_tokens.weight\" in model-00001-of-00005.safetensors, where it stands");
}

TEST_F(Shards, MissingForeignAndMisshapenTensorsAreNamed) {
  std::vector<TensorView> tensors = views();
  const std::size_t last = tensors.size() - 1;
  tensors.pop_back();
  write(tensors);
  expect_refused("have no tensor \"model.norm.weight\"");
  tensors = views();
  tensors.push_back(tensors[last]);
  tensors.back().name = "model.layers.4.mlp.up_proj.weight";
  write(tensors);
  expect_refused("\"model.layers.4.mlp.up_proj.weight\" at offset");
  tensors = views();
  tensors[last].shape = {8, 8};
  write(tensors);
  expect_refused("has shape [8, 8], the model needs [64]");
  tensors = views();
  tensors[last].type = TensorType::i32;
  write(tensors);
  expect_refused("has dtype I32, only F32, BF16 and F16 can be read");
}

// A critic may start from a base; a reward model without its head is none.
TEST_F(Shards, AValueHeadStartsAtZeroAndARewardHeadMustBeThere) {
  const auto critic = CpuModel::load_folder(folder_, 1, Head::value);
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(critic->parameters()[critic->layout().head + i], 0.0f);
  expect_refused("no tensor \"score.weight\"", Head::reward);
  const std::vector<float> score(64, 0.5f);
  std::vector<TensorView> tensors = views();
  tensors.push_back({"score.weight", TensorType::f32, {1, 64}, std::as_bytes(std::span(score)), 0});
  write(tensors);
  for (Head head : {Head::value, Head::reward}) {
    const auto scored = CpuModel::load_folder(folder_, 1, head);
    EXPECT_EQ(scored->parameters()[scored->layout().head], 0.5f);
  }
  expect_refused("\"score.weight\" at offset");
  tensors.back().shape = {2, 32};
  write(tensors);
  expect_refused("has shape [2, 32], the model needs [1, 64]", Head::reward);
}

TEST(Vocabulary, ATokenizerLargerThanTheEmbeddingIsRefused) {
  EXPECT_NO_THROW(check_vocabulary(20, 20, "m"));
  EXPECT_NO_THROW(check_vocabulary(20, 64, "m"));
  EXPECT_THAT([] { check_vocabulary(21, 20, "m"); },
              ThrowsMessage<FormatError>(HasSubstr("ids up to 20, but vocab_size of config.json is 20")));
}

}  // namespace
}  // namespace rlflow
