// Do adapters compute what PEFT computes with them: forward, backward, one optimizer, merged? Needs
// RLFLOW_ORACLE_PYTHON, a Python with peft; skipped where it is not set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/model/tensor_file.h"
#include "nodes/model/weights_export.h"
#include "runtime/contract/philox.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";
const std::vector<std::int32_t> kSequence = {1, 6, 7, 10, 13, 8, 11, 9, 16, 17, 10, 13, 9, 16, 4, 6, 19, 18, 12, 2};

AdamWSettings optimizer_settings() {
  AdamWSettings settings;
  settings.schedule.peak = 1e-2;
  settings.beta1 = 0.8;
  settings.beta2 = 0.95;
  settings.decay = 0.1;
  settings.clip = 0.5;
  return settings;
}

// A base folder of drawn weights, whose configuration is the tiny one changed as `changes` say.
void write_base(const std::filesystem::path& root, const Json& changes) {
  std::filesystem::create_directories(root / "source");
  std::filesystem::create_directories(root / "model");
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::copy_file(kTiny / name, root / "source" / name);
  }
  Json config = Json::parse(read_text_file(kTiny / "config.json", 1 << 20));
  config.update(changes);
  std::ofstream(root / "source/config.json") << config.dump(2);
  CpuModel::draw(root / "source", 5, 2)->export_folder(root / "model");
}

// B begins as zero, which would hide half of everything.
void fill_adapters(CpuModel& model) {
  std::vector<float> values(static_cast<std::size_t>(model.trained_slots().size));
  PhiloxStream stream(h64(RandomPurpose::adapters, {17}));
  for (float& value : values) value = static_cast<float>(stream.normal() * 0.2);
  VectorSink sink;
  write_safetensors(sink, slot_views(model.trained_slots(), values.data(), ""), {});
  model.load("parameters", sink.bytes);
}

void write_observed(CpuModel& model, const std::filesystem::path& file) {
  const std::vector<std::int64_t> offsets{0, static_cast<std::int64_t>(kSequence.size())}, all{0};
  const std::vector<std::uint8_t> mask(kSequence.size(), 1);
  const std::vector<Chunk> chunks = pack_examples({kSequence, offsets}, mask, all, 1000);
  std::vector<float> logprob;
  CpuPasses passes;
  const float* sum = passes.gradient(model.view(), chunks, {1.0f, 2, {}}, [&](const ChunkLoss& chunk) {
    logprob.assign(chunk.logprob.begin(), chunk.logprob.end());
    for (float& d : chunk.dlogprob) d = -1.0f / static_cast<float>(chunk.logprob.size());
  });
  const std::vector<float> gradient(sum, sum + model.trained_slots().size);

  PackedRows rows;
  rows.add(kSequence);
  Activations activations;
  forward(model.view(), rows, activations, Activations::Use::training);
  const ModelConfig& config = model.config();
  std::vector<float> normed(kSequence.size() * static_cast<std::size_t>(config.hidden_size));
  std::vector<float> z(kSequence.size() * static_cast<std::size_t>(config.vocab_size));
  logits(model.view(), activations.output(), rows.size(), normed.data(), nullptr, z.data());

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(model.apply(gradient.data()).applied);
  std::vector<TensorView> views = slot_views(model.trained_slots(), gradient.data(), "gradient.");
  const std::vector<TensorView> after = slot_views(model.trained_slots(), model.trained(), "after.");
  views.insert(views.end(), after.begin(), after.end());
  views.push_back(vector_view("tokens", kSequence));
  views.push_back(vector_view("logprob", logprob));
  views.push_back(vector_view("logits", z));
  views.back().shape = {kSequence.size(), static_cast<std::uint64_t>(config.vocab_size)};
  write_safetensors_file(file, std::move(views));
}

void expect_parity(const std::string& name, const Json& changes, std::vector<std::string> targets, double alpha) {
  const char* python = std::getenv("RLFLOW_ORACLE_PYTHON");
  if (!python) GTEST_SKIP() << "RLFLOW_ORACLE_PYTHON is not set: nothing to compare with";
  const std::filesystem::path root = std::filesystem::path(RLFLOW_BINARY_DIR) / "oracle/lora" / name;
  std::filesystem::remove_all(root);
  write_base(root, changes);
  ModelForm form;
  form.lora = LoraSettings{.rank = 5, .alpha = alpha, .targets = std::move(targets), .seed = 3};
  const auto model = CpuModel::load_folder(root / "model", 2, form);
  fill_adapters(*model);
  model->attach_optimizer(optimizer_settings());
  std::filesystem::create_directories(root / "adapter");
  std::filesystem::create_directories(root / "merged");
  model->export_folder(root / "adapter");
  model->export_merged(root / "merged");
  const AdamWSettings optimizer = optimizer_settings();
  const Json settings = {{"lr", optimizer.schedule.peak},
                         {"eps", optimizer.eps},
                         {"decay", optimizer.decay},
                         {"clip", optimizer.clip},
                         {"betas", {optimizer.beta1, optimizer.beta2}}};
  std::ofstream(root / "settings.json") << settings.dump(2);
  write_observed(*model, root / "observed.safetensors");
  const std::string command =
      std::string(python) + " " + RLFLOW_SOURCE_DIR + "/tests/oracle/lora_parity.py " + root.string();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

const std::vector<std::string> kAll = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};

TEST(LoraParity, TheTinyModelWithTheDefaultTargets) { expect_parity("tiny", Json::object(), {"q_proj", "v_proj"}, 10); }

TEST(LoraParity, EveryLinearLayerWithBiasesAndOddSizes) {
  expect_parity("odd",
                {{"tie_word_embeddings", false},
                 {"attention_bias", true},
                 {"mlp_bias", true},
                 {"hidden_size", 42},
                 {"intermediate_size", 72},
                 {"num_attention_heads", 6},
                 {"num_key_value_heads", 3},
                 {"head_dim", 18},
                 {"num_hidden_layers", 3}},
                kAll, 7.5);
}

TEST(LoraParity, NormsOfHeads) {
  expect_parity("qwen3", {{"model_type", "qwen3"}, {"architectures", {"Qwen3ForCausalLM"}}, {"head_dim", 24}},
                {"k_proj", "o_proj", "up_proj"}, 5);
}

TEST(LoraParity, NormsOfBranches) {
  expect_parity("gemma3",
                {{"model_type", "gemma3_text"},
                 {"architectures", {"Gemma3ForCausalLM"}},
                 {"hidden_activation", "gelu_pytorch_tanh"},
                 {"query_pre_attn_scalar", 16},
                 {"sliding_window", 8},
                 {"rope_local_base_freq", 1e4},
                 {"tie_word_embeddings", true}},
                kAll, 5);
}

}  // namespace
}  // namespace rlflow
