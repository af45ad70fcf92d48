// A KL weight needs reference log-probabilities, and they need a weight.
#include <string>

#include "compiler/check.h"

namespace rlflow {
namespace {

// A trajectory that the node reads, as written.
std::string trajectory_of(const CheckInput& input, const FlowNode& node) {
  const NodeInput* traj = input_named(node, "traj");
  return traj && traj->from == NodeInput::From::edge ? std::string(input.sources.text(traj->span)) : "";
}

bool is_taken(const Pipeline& pipeline, const std::string& name) {
  for (const FlowNode& node : pipeline.nodes) {
    for (const NodeOutput& output : node.outputs) {
      if (output.name == name) return true;
    }
  }
  return false;
}

// Two edits: a line that makes the log-probs, and the input that takes them.
void offer_reference(const CheckInput& input, const FlowNode& node, Diagnostic& message) {
  Edit take{{node.close_span.file, node.close_span.begin, node.close_span.begin}, ", ref=refl"};
  std::string traj = trajectory_of(input, node);
  const Model* frozen = nullptr;
  for (const Model& model : input.pipeline.models) {
    if (!model.trainable && model.head == Head::lm && frozen == nullptr) frozen = &model;
  }
  if (frozen != nullptr && !traj.empty() && !is_taken(input.pipeline, "refl")) {
    std::string line = "refl = logprob(" + frozen->name + ", " + traj + ")";
    Span before{node.span.file, node.span.begin, node.span.begin};
    message.fix("add `" + line + "` and `ref=refl`", Applicability::guess, {{before, line + "\n  "}, take});
  } else {
    message.help("add a frozen model `ref`, a node `refl = logprob(ref, " + (traj.empty() ? "traj" : traj) +
                 ")` and `ref=refl`");
  }
}

void check_update(const CheckInput& input, const FlowNode& node, Diagnostics& diagnostics) {
  const Value* kl = setting(node.settings, "kl");
  const NodeInput* ref = input_named(node, "ref");
  if (kl == nullptr || kl->get<double>() == nullptr || ref == nullptr) return;
  const Setting& weight = node.settings.at("kl");
  bool has_reference = ref->from == NodeInput::From::edge;
  if (*kl->get<double>() > 0 && ref->from == NodeInput::From::absent) {
    Diagnostic& message =
        diagnostics.error("E0312", weight.span, "a KL weight needs reference log-probs, and `update` has no `ref`");
    message.label("kl is " + to_text(*kl));
    if (ref->span.valid()) {
      message.at(ref->span, "taken away by `when`").help("make its `when` true, or set `kl = 0`");
      return;
    }
    message.at(node.close_span, "no `ref` input");
    offer_reference(input, node, message);
    if (weight.origin == Origin::source) {
      message.fix("or set `kl = 0`", Applicability::guess, {{weight.value_span, "0"}});
    } else {
      message.help("or set `kl = 0`");
    }
  }
  if (*kl->get<double>() == 0 && has_reference) {
    const FlowNode& maker = input.pipeline.node(ref->node);
    if (!maker.known) return;
    diagnostics.error("E0312", ref->span, "reference log-probs are given, and the KL weight is 0")
        .label("has no effect")
        .at(maker.callee_span, "computed for nothing")
        .help("set `kl` above 0, or take `ref` away; a param and `when kl > 0` on `" + maker.name +
              "` make it a choice");
  }
}

}  // namespace

void check_kl(const CheckInput& input, Diagnostics& diagnostics) {
  for (const FlowNode& node : input.pipeline.nodes) {
    if (is_live(node) && node.signature->effect == NodeEffect::update) check_update(input, node, diagnostics);
  }
}

}  // namespace rlflow
