// Markdown for hover and completion.
#include "cli/lsp/described.h"

#include "cli/catalog_text.h"
#include "compiler/names.h"
#include "compiler/params.h"

namespace rlflow::lsp {
namespace {

std::string code_block(const std::string& text) { return "```rlflow\n" + text + "\n```\n"; }

template <class T>
const T* with_name_at(const std::vector<T>& list, Span span) {
  for (const T& item : list) {
    if (item.name_span == span) return &item;
  }
  return nullptr;
}

template <class List, class TheId>
std::string name_of(const List& list, TheId id) {
  return id.valid() ? list[id.index()].name : "?";
}

std::string domain_text(const Param& param) {
  if (param.lo && param.hi) return " in " + double_text(*param.lo) + ".." + double_text(*param.hi);
  std::string words;
  for (const Value& choice : param.choices) words += (words.empty() ? "" : ", ") + to_text(choice);
  return words.empty() ? "" : " in {" + words + "}";
}

std::string param_line(const Param& param) {
  return "param " + param.name + " : " + param_type_name(param.type) + " = " +
         (param.value.is_null() ? "?" : to_text(param.value)) + domain_text(param);
}

std::string group_line(const Group& group) {
  std::string line = "group " + group.name + " = ";
  if (group.device == DeviceKind::cpu) return line + "cpu { threads = " + std::to_string(group.threads) + " }";
  return line + "gpu[" + std::to_string(group.first) + ".." + std::to_string(group.last) +
         "] { tp = " + std::to_string(group.tp) + ", dp = " + std::to_string(group.dp) + " }";
}

std::string model_line(const Model& model, const Pipeline& pipeline) {
  const std::string source = model.base_of.valid() ? "base_of(" + name_of(pipeline.models, model.base_of) + ")"
                                                   : model.loader + "(\"" + model.path + "\")";
  return "model " + model.name + " = " + source + " on " + name_of(pipeline.groups, model.group) + " { " +
         (model.trainable ? "trainable, " : "") + "dtype = " + dtype_name(model.dtype) +
         ", head = " + head_name(model.head) + " }";
}

std::string source_line(const std::string& keyword, const Source& source) {
  return keyword + " " + source.name + " = " + source.source + "(\"" + source.argument + "\")";
}

std::string output_line(const OutputPlace& place, const Pipeline& pipeline) {
  return place.output->name + " : " + (place.output->known ? sized_type(pipeline, *place.output) : "?") + " = " +
         place.node->op + "(…)";
}

std::string param_facts(const Param& param) {
  std::string text = param.doc.empty() ? "" : param.doc + "\n\n";
  if (param.origin == Origin::command_line) text += "declared as `" + to_text(param.declared) + "`\n\n";
  if (param.lo && param.hi) {
    text += "range: " + double_text(*param.lo) + " to " + double_text(*param.hi) + ", both ends included\n";
  }
  return text;
}

// A response ends when it ends, but not behind `max_new`.
std::string bound_of(const Dim& dim, const Pipeline& pipeline) {
  const Value* most = setting(pipeline.node(dim.maker).settings, "max_new");
  return dim.size || most == nullptr || most->is_null() ? "" : ", at most " + to_text(*most) + " (`max_new`)";
}

// Who made each dimension.
std::string dim_facts(const NodeOutput& output, const Pipeline& pipeline) {
  std::string text;
  if (!output.known) return text;
  for (DimId id : output.dims) text += describe(pipeline.dims[id.index()], pipeline);
  return text;
}

std::string facts(const Definition& definition, const Pipeline& pipeline) {
  if (const Param* param = with_name_at(pipeline.params, definition.span)) return param_facts(*param);
  for (const auto* list : {&pipeline.data, &pipeline.rewards}) {
    const Source* source = with_name_at(*list, definition.span);
    if (source != nullptr && source->signature != nullptr) return source->signature->doc + "\n";
  }
  OutputPlace place = output_at(pipeline, definition.span);
  if (place.output == nullptr) return "";
  std::string text = place.node->signature != nullptr ? place.node->signature->doc + "\n\n" : "";
  if (place.output->known) text += describe(place.output->kind) + "\n\n";
  text += dim_facts(*place.output, pipeline);
  return place.node->removed ? text + "\nremoved: its `when` is false\n" : text;
}

}  // namespace

const char* head_name(Head head) {
  switch (head) {
    case Head::lm: return "lm";
    case Head::value: return "value";
    case Head::reward: return "reward";
  }
  return "";
}

OutputPlace output_at(const Pipeline& pipeline, Span name_span) {
  for (const FlowNode& node : pipeline.nodes) {
    for (const NodeOutput& output : node.outputs) {
      if (!output.name.empty() && output.span == name_span) return {&node, &output};
    }
  }
  return {};
}

std::string sized_type(const Pipeline& pipeline, const NodeOutput& output) {
  std::string dims;
  for (DimId id : output.dims) {
    const Dim& dim = pipeline.dims[id.index()];
    dims += (dims.empty() ? "" : ", ") + dim.name + (dim.size ? "=" + std::to_string(*dim.size) : "");
  }
  return std::string(kind_name(output.kind)) + (dims.empty() ? "" : "[" + dims + "]");
}

std::string declaration_line(const Definition& definition, const Pipeline& pipeline) {
  Span span = definition.span;
  switch (definition.kind) {
    case SymbolKind::param:
      if (const Param* param = with_name_at(pipeline.params, span)) return param_line(*param);
      return "";
    case SymbolKind::group:
      if (const Group* group = with_name_at(pipeline.groups, span)) return group_line(*group);
      return "";
    case SymbolKind::model:
      if (const Model* model = with_name_at(pipeline.models, span)) return model_line(*model, pipeline);
      return "";
    case SymbolKind::replica:
      if (const Replica* replica = with_name_at(pipeline.replicas, span)) {
        return "replica " + replica->name + " = " + name_of(pipeline.models, replica->model) + " on " +
               name_of(pipeline.groups, replica->group);
      }
      return "";
    case SymbolKind::data:
      if (const Source* source = with_name_at(pipeline.data, span)) return source_line("data", *source);
      return "";
    case SymbolKind::reward:
      if (const Source* source = with_name_at(pipeline.rewards, span)) return source_line("reward", *source);
      return "";
    case SymbolKind::output: {
      OutputPlace place = output_at(pipeline, span);
      return place.output == nullptr ? "" : output_line(place, pipeline);
    }
    case SymbolKind::import: return "import … as " + definition.name;
    case SymbolKind::broken: return "";
  }
  return "";
}

std::string describe(const Definition& definition, const Pipeline& pipeline) {
  std::string line = declaration_line(definition, pipeline);
  return line.empty() ? "" : code_block(line) + facts(definition, pipeline);
}

std::string describe(const Dim& dim, const Pipeline& pipeline) {
  std::string text = "- `" + dim.name + "`" + (dim.size ? " = " + with_commas(*dim.size) : "");
  if (dim.maker.valid()) text += ", made by `" + pipeline.node(dim.maker).name + "`" + bound_of(dim, pipeline);
  return text + "\n";
}

std::string describe(const SettingSpec& spec, const std::string& owner, const Setting* value) {
  std::string text = "`" + spec.name + "` of " + owner + "\n\n" + spec.doc + "\n\n";
  text += "- takes: " + values_text(spec) + "\n- default: " + default_text(spec) + "\n";
  if (value != nullptr && !value->value.is_null() && value->origin != Origin::fallback) {
    text += "- here: `" + to_text(value->value) + "`\n";
  }
  if (!spec.runs) text += "- checked and planned; not executed by this version\n";
  return text;
}

std::string describe(const NodeSignature& signature) {
  std::string text = code_block(call_text(signature)) + signature.doc + "\n\n";
  if (signature.only_in_every) text += "stands in `every` blocks only\n\n";
  for (const ArgumentSpec& argument : signature.arguments) {
    text += "- `" + argument.name + (argument.named_only ? "=" : "") + "`: " + argument.doc + "\n";
  }
  return signature.runs ? text : text + "\nchecked and planned; not executed by this version\n";
}

std::string describe(const SourceSignature& source) {
  std::string argument = source.name.empty() ? "…" : "\"" + source.name + "\"";
  std::string text = code_block(source.source + "(" + argument + ")") + source.doc + "\n";
  return source.runs ? text : text + "\nchecked and planned; not executed by this version\n";
}

std::string describe(const CallSpec& call) {
  std::string arguments;
  for (const SettingSpec& argument : call.arguments) {
    bool needed = !argument.fallback && !argument.optional;
    arguments += (arguments.empty() ? "" : ", ") + argument.name;
    if (!needed) arguments += "=" + default_text(argument);
  }
  return code_block(call.name + "(" + arguments + ")") + call.doc + "\n";
}

std::string describe(Kind kind) {
  switch (kind) {
    case Kind::prompts: return "prompts: token ids, source row, answer and group of each";
    case Kind::examples: return "examples: prompt and response tokens with a loss mask";
    case Kind::pairs: return "pairs: a prompt with a chosen and a rejected response";
    case Kind::traj: return "trajectories: sampled responses with their sampling log-probabilities";
    case Kind::reward: return "rewards: f32, one per response or one per token";
    case Kind::logp: return "log-probabilities: f32, one per response token";
    case Kind::value: return "values: f32, a critic's estimate for each response token";
    case Kind::adv: return "advantages: f32, one per response or one per token";
    case Kind::returns: return "returns: f32, one per response token";
    case Kind::scalar: return "a scalar: one number";
    case Kind::metrics: return "metrics: named numbers";
    case Kind::cursor: return "a place in a data set";
  }
  return "";
}

}  // namespace rlflow::lsp
