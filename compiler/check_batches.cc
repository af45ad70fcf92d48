// Whether batches divide into minibatches and ranks, and the longest sequence fits into what is cut.
#include <algorithm>
#include <optional>
#include <string>

#include "compiler/batch_size.h"
#include "compiler/check.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

// The divisors of `total` that are multiples of `step`, nearest to `wanted` on both sides.
std::vector<std::int64_t> nearest_divisors(std::int64_t total, std::int64_t step, std::int64_t wanted) {
  std::optional<std::int64_t> below;
  std::optional<std::int64_t> above;
  auto consider = [&](std::int64_t d) {
    if (d % step != 0) return;
    if (d <= wanted)
      below = below ? std::max(*below, d) : d;
    else
      above = above ? std::min(*above, d) : d;
  };
  for (std::int64_t d = 1; d <= total / d; ++d) {
    if (total % d != 0) continue;
    consider(d);
    consider(total / d);
  }
  std::vector<std::int64_t> list;
  if (below) list.push_back(*below);
  if (above) list.push_back(*above);
  return list;
}

void check_minibatch(const CheckInput& input, const FlowNode& node, Diagnostics& diagnostics) {
  const Pipeline& pipeline = input.pipeline;
  std::optional<std::int64_t> minibatch = quantity(node.settings, "minibatch", Unit::seqs);
  const Dim* batch = batch_of(pipeline, node);
  if (!minibatch || batch == nullptr || !batch->size || !node.model.valid()) return;
  GroupId group = pipeline.models[node.model.index()].group;
  std::int64_t dp = group.valid() ? pipeline.groups[group.index()].dp : 1;
  if (*batch->size % *minibatch == 0 && *minibatch % dp == 0) return;
  Span at = node.settings.at("minibatch").span;
  std::string total = with_commas(*batch->size);
  bool divides = *batch->size % *minibatch == 0;
  Diagnostic& message = diagnostics.error(
      "E0503", at,
      divides ? "minibatches of " + with_commas(*minibatch) + " do not split over " + std::to_string(dp) + " ranks"
              : total + " responses do not split into minibatches of " + with_commas(*minibatch));
  message.value("batch", *batch->size).value("minibatch", *minibatch).value("dp", dp);
  message.note(arithmetic_of(pipeline, *batch) + "; dp = " + std::to_string(dp) + ", so a minibatch divides " + total +
               (dp > 1 ? " and is a multiple of " + std::to_string(dp) : ""));
  std::vector<std::int64_t> near = nearest_divisors(*batch->size, dp, *minibatch);
  if (near.size() == 2) message.help("nearest are " + std::to_string(near[0]) + " and " + std::to_string(near[1]));
  if (near.size() == 1) message.help("nearest is " + std::to_string(near[0]));
  if (near.empty()) message.help("choose a batch that dp = " + std::to_string(dp) + " divides");
}

std::string tokens_text(std::int64_t tokens) {
  std::int64_t kibi = (tokens + 1023) / 1024;
  return std::to_string(kibi) + "Ki tokens";
}

void check_room(const CheckInput& input, NodeId id, const char* name, const char* what, Diagnostics& diagnostics) {
  const FlowNode& node = input.pipeline.node(id);
  std::optional<std::int64_t> room = quantity(node.settings, name, Unit::tokens);
  if (!room) return;
  const LongestSequence longest = longest_sequence(input.pipeline, id);
  if (longest.tokens <= *room) return;
  const Setting& given = node.settings.at(name);
  Diagnostic& message =
      diagnostics.error("E0504", given.span, std::string("one response can be longer than the ") + what);
  message.value("longest", longest.tokens).value(name, *room);
  message.note(longest.note + " tokens > " + with_commas(*room) + ", per data-parallel rank");
  std::string enough = tokens_text(longest.tokens);
  if (given.origin == Origin::source) {
    message.fix("at least `" + std::string(name) + " = " + enough + "`", Applicability::likely,
                {{given.value_span, enough}});
  } else {
    message.help("at least `" + std::string(name) + " = " + enough + "`");
  }
}

}  // namespace

void check_batches(const CheckInput& input, Diagnostics& diagnostics) {
  for (std::size_t n = 0; n < input.pipeline.nodes.size(); ++n) {
    const FlowNode& node = input.pipeline.nodes[n];
    if (!is_live(node)) continue;
    check_minibatch(input, node, diagnostics);
    check_room(input, NodeId(n), "micro", "micro-batch", diagnostics);
    check_room(input, NodeId(n), "budget", "budget", diagnostics);
  }
}

}  // namespace rlflow
