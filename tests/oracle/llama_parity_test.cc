// Do model, optimizer and tokenizer agree with transformers, torch and tokenizers? Needs RLFLOW_ORACLE_PYTHON, a Python
// with these packages; skipped where it is not set.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <numeric>

#include "nodes/format/file.h"
#include "nodes/format/json.h"
#include "nodes/format/tokenizer.h"
#include "nodes/model/cpu_model.h"
#include "nodes/model/cpu_passes.h"
#include "nodes/model/tensor_file.h"

namespace rlflow {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kTiny = std::filesystem::path(RLFLOW_SOURCE_DIR) / "models/tiny";
constexpr double kTemperature = 0.8, kEntropy = 0.1;

AdamWSettings optimizer_settings() {
  AdamWSettings settings;
  settings.schedule.peak = 1e-2;
  settings.beta1 = 0.8;
  settings.beta2 = 0.95;
  settings.decay = 0.1;
  settings.clip = 0.5;
  return settings;
}

class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::filesystem::path& path) : stream_(path, std::ios::binary) {}
  void write(std::span<const std::byte> data) override {
    stream_.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  }

 private:
  std::ofstream stream_;
};

// A model folder with the tiny tokenizer and the tiny configuration changed as `changes` say.
std::filesystem::path source_folder(const std::filesystem::path& folder, const Json& changes) {
  std::filesystem::create_directories(folder);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::copy_file(kTiny / name, folder / name, std::filesystem::copy_options::overwrite_existing);
  }
  Json config = Json::parse(read_text_file(kTiny / "config.json", 1 << 20));
  config.update(changes);
  std::ofstream(folder / "config.json") << config.dump(2);
  return folder;
}

void write_settings(const std::filesystem::path& file) {
  const AdamWSettings optimizer = optimizer_settings();
  const Tokenizer tokenizer = read_tokenizer(kTiny);
  Json settings = {{"temperature", kTemperature},
                   {"entropy", kEntropy},
                   {"lr", optimizer.schedule.peak},
                   {"eps", optimizer.eps},
                   {"decay", optimizer.decay},
                   {"clip", optimizer.clip},
                   {"betas", {optimizer.beta1, optimizer.beta2}}};
  for (const char* text : {"347+586=", "<7+6=13 4+8+1=13>933", " ", "0123456789+-*=<> "}) {
    settings["encoded"][text] = tokenizer.encode(text);
  }
  std::ofstream(file) << settings.dump(2);
}

// What the script compares: logits, log-probabilities and entropies of one sequence, the gradient of its loss, and
// the parameters after three optimizer steps with that gradient.
void write_observed(CpuModel& model, const std::vector<std::int32_t>& tokens, const std::filesystem::path& file) {
  const std::vector<std::int64_t> offsets{0, static_cast<std::int64_t>(tokens.size())}, all{0};
  std::vector<std::uint8_t> mask(tokens.size(), 1);
  const std::vector<Chunk> chunks = pack_examples({tokens, offsets}, mask, all, 1000);
  std::vector<float> logprob, entropy;
  CpuPasses passes;
  const std::size_t count = tokens.size() - 1;
  const float* sum =
      passes.gradient(model.view(), chunks, {static_cast<float>(1 / kTemperature), 1, {}}, [&](const ChunkLoss& chunk) {
        logprob.assign(chunk.logprob.begin(), chunk.logprob.end());
        entropy.assign(chunk.entropy.begin(), chunk.entropy.end());
        for (float& d : chunk.dlogprob) d = -1.0f / static_cast<float>(count);
        for (float& d : chunk.dentropy) d = static_cast<float>(-kEntropy) / static_cast<float>(count);
      });
  const std::vector<float> gradient(sum, sum + model.layout().size);

  PackedRows rows;
  rows.add(tokens);
  Activations activations;
  forward(model.view(), rows, activations, Activations::Use::reading);
  const ModelConfig& config = model.config();
  std::vector<float> normed(tokens.size() * static_cast<std::size_t>(config.hidden_size));
  std::vector<float> z(tokens.size() * static_cast<std::size_t>(config.vocab_size));
  logits(model.view(), activations.output(), rows.size(), normed.data(), nullptr, z.data());

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(model.apply(gradient.data()).applied);
  std::vector<TensorView> views = slot_views(model.layout(), gradient.data(), "gradient.");
  const std::vector<TensorView> after = slot_views(model.layout(), model.parameters(), "after.");
  views.insert(views.end(), after.begin(), after.end());
  views.push_back(vector_view("tokens", tokens));
  views.push_back(vector_view("logprob", logprob));
  views.push_back(vector_view("entropy", entropy));
  views.push_back(vector_view("logits", z));
  views.back().shape = {tokens.size(), static_cast<std::uint64_t>(config.vocab_size)};
  FileSink sink(file);
  write_safetensors(sink, std::move(views), {});
}

// Values of one sequence and the gradient of their squared distance from 0.7.
void write_observed_values(const CpuModel& model, const std::vector<std::int32_t>& tokens,
                           const std::filesystem::path& file) {
  const std::vector<std::int64_t> offsets{0, static_cast<std::int64_t>(tokens.size())}, all{0};
  std::vector<std::uint8_t> mask(tokens.size(), 1);
  const std::vector<Chunk> chunks = pack_examples({tokens, offsets}, mask, all, 1000);
  std::vector<float> value;
  CpuPasses passes;
  const float* gradient = passes.value_gradient(model.view(), chunks, {1.0f, 1, {}}, [&](const ChunkValues& chunk) {
    value.assign(chunk.value.begin(), chunk.value.end());
    for (std::size_t i = 0; i < value.size(); ++i)
      chunk.dvalue[i] = (value[i] - 0.7f) / static_cast<float>(value.size());
  });
  std::vector<TensorView> views = slot_views(model.layout(), gradient, "gradient.");
  views.push_back(vector_view("tokens", tokens));
  views.push_back(vector_view("value", value));
  FileSink sink(file);
  write_safetensors(sink, std::move(views), {});
}

const std::vector<std::int32_t> kSequence = {1, 6, 7, 10, 13, 8, 11, 9, 16, 17, 10, 13, 9, 16, 4, 6, 19, 18, 12, 2};

void expect_parity(const std::string& name, const Json& changes) {
  const char* python = std::getenv("RLFLOW_ORACLE_PYTHON");
  if (!python) GTEST_SKIP() << "RLFLOW_ORACLE_PYTHON is not set: nothing to compare with";
  const std::filesystem::path folder = std::filesystem::path(RLFLOW_BINARY_DIR) / "oracle" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "model");
  const auto model = CpuModel::draw(source_folder(folder / "source", changes), 5, 2);
  model->attach_optimizer(optimizer_settings());
  model->export_folder(folder / "model");
  write_settings(folder / "settings.json");
  write_observed(*model, kSequence, folder / "observed.safetensors");
  const std::string command =
      std::string(python) + " " + RLFLOW_SOURCE_DIR + "/tests/oracle/llama_parity.py " + folder.string();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(CriticParity, TheTinyModelWithAValueHead) {
  const char* python = std::getenv("RLFLOW_ORACLE_PYTHON");
  if (!python) GTEST_SKIP() << "RLFLOW_ORACLE_PYTHON is not set: nothing to compare with";
  const std::filesystem::path folder = std::filesystem::path(RLFLOW_BINARY_DIR) / "oracle/critic";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "model");
  const auto model = CpuModel::draw(kTiny, 5, 2, Head::value);
  model->export_folder(folder / "model");
  write_observed_values(*model, kSequence, folder / "observed.safetensors");
  const std::string command =
      std::string(python) + " " + RLFLOW_SOURCE_DIR + "/tests/oracle/critic_parity.py " + folder.string();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(LlamaParity, TheTinyModel) { expect_parity("tiny", Json::object()); }

TEST(LlamaParity, UntiedWithOddSizes) {
  expect_parity("odd", {{"tie_word_embeddings", false},
                        {"hidden_size", 42},
                        {"intermediate_size", 72},
                        {"num_attention_heads", 6},
                        {"num_key_value_heads", 3},
                        {"head_dim", 18},
                        {"num_hidden_layers", 3},
                        {"rope_theta", 500000.0},
                        {"rms_norm_eps", 1e-6}});
}

}  // namespace
}  // namespace rlflow
