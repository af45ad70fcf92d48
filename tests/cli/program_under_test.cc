// build/rlflow as a child process.
#include "tests/cli/program_under_test.h"

#include <gtest/gtest.h>

namespace rlflow::testing {

const std::string kTinyProgram = R"(rlflow 1
param kl : float = 0.0 in 0..1
group here = cpu { threads = 2 }
model policy = load("models/tiny") on here { trainable, optim = adamw(lr=1e-4) }
model ref    = load("models/tiny") on here
replica sampler = policy on here
data train = builtin("addition") { digits = 2..3 }
reward exact = builtin("exact_answer")
flow grpo {
  batch = take(train, 4)
  traj  = rollout(sampler, batch, n=2) { max_new = 34 }
  r     = score(exact, traj)
  adv   = advantage(r) { estimator = grpo }
  refl  = logprob(ref, traj) when kl > 0
  step  = update(policy, traj, adv, ref=refl) { kl = kl }
  sync policy -> sampler every 1 step lag 0
  stop after 3
}
)";

ProcessResult rlflow(const std::vector<std::string>& arguments, const std::string& folder, const std::string& input,
                     std::map<std::string, std::string> environment) {
  std::vector<std::string> argv = {std::string(RLFLOW_BINARY_DIR) + "/rlflow"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  ProcessOptions options;
  options.folder = folder;
  options.input = input;
  options.environment = std::move(environment);
  options.environment.emplace("TERM", "dumb");
  options.environment.emplace("RLFLOW_INVOKED_AS", "rlflow");
  return run_process(argv, options);
}

std::string spoilt(const std::string& from, const std::string& to) {
  std::string text = kTinyProgram;
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " stands there twice";
  return text.replace(at, from.size(), to);
}

nlohmann::json json_of(const ProcessResult& result) {
  nlohmann::json object = nlohmann::json::parse(result.out, nullptr, false);
  EXPECT_TRUE(object.is_object()) << "standard output: " << result.out << "\nstandard error: " << result.err;
  return object.is_object() ? object : nlohmann::json::object();
}

}  // namespace rlflow::testing
