// Names first, then what the position says: settings, calls, words, types, built-in sources.
#include "cli/lsp/hover.h"

#include "cli/lsp/completion.h"
#include "cli/lsp/cursor.h"
#include "cli/lsp/described.h"
#include "cli/lsp/keyword_docs.h"
#include "cli/lsp/owner.h"

namespace rlflow::lsp {
namespace {

constexpr FileId kProgram{std::int32_t{0}};

template <class T>
const T* around(const std::vector<T>& list, std::uint32_t byte) {
  for (const T& item : list) {
    if (item.span.file == kProgram && item.span.begin <= byte && byte <= item.span.end) return &item;
  }
  return nullptr;
}

// The settings of whatever declaration or statement holds the byte.
const Settings* settings_around(const Pipeline& pipeline, std::uint32_t byte) {
  if (const FlowNode* node = around(pipeline.nodes, byte)) return &node->settings;
  if (const Sync* sync = around(pipeline.syncs, byte)) return &sync->settings;
  if (const Model* model = around(pipeline.models, byte)) return &model->settings;
  if (const Group* group = around(pipeline.groups, byte)) return &group->settings;
  if (const Replica* replica = around(pipeline.replicas, byte)) return &replica->settings;
  if (const Source* data = around(pipeline.data, byte)) return &data->settings;
  if (const Source* reward = around(pipeline.rewards, byte)) return &reward->settings;
  return nullptr;
}

const Setting* written_value(const Pipeline& pipeline, std::uint32_t byte, const std::string& name) {
  const Settings* settings = settings_around(pipeline, byte);
  if (settings == nullptr) return nullptr;
  auto found = settings->find(name);
  return found == settings->end() ? nullptr : &found->second;
}

std::string on_setting(const Cursor& cursor, const Analysis& analysis, const NameIndex& names, const Catalog& catalog) {
  const std::string word(cursor.word());
  BlockOwner owner = block_owner(cursor, analysis, names, catalog);
  if (cursor.starts_item()) {
    const SettingSpec* spec = find_setting(owner.settings, word);
    const Setting* value = written_value(analysis.pipeline, cursor.word_begin(), word);
    return spec == nullptr ? "" : describe(*spec, owner.name, value);
  }
  const SettingSpec* spec = find_setting(owner.settings, cursor.item_name(*cursor.top()));
  if (spec == nullptr) return "";
  if (const CallSpec* call = find_call(*spec, word)) return describe(*call);
  return has_word(*spec, word) ? describe(*spec, owner.name, nullptr) : "";
}

// `lr` or `cosine` inside the value of a setting: `optim = adamw(lr=cosine(…))`.
std::string on_call_argument(const Cursor& cursor, const BlockOwner& owner) {
  const std::string word(cursor.word());
  for (const SettingSpec* spec : owner.settings) {
    for (const CallSpec& call : spec->calls) {
      for (const SettingSpec& argument : call.arguments) {
        if (argument.name == word && cursor.starts_item()) return describe(argument, "`" + call.name + "`", nullptr);
        if (const CallSpec* inner = find_call(argument, word)) return describe(*inner);
        for (const CallSpec& inner : argument.calls) {
          const SettingSpec* nested = find_setting(pointers_to(inner.arguments), word);
          if (nested != nullptr && cursor.starts_item()) return describe(*nested, "`" + inner.name + "`", nullptr);
        }
      }
    }
  }
  return "";
}

bool in_settings(const Cursor& cursor) {
  for (const Frame& frame : cursor.frames()) {
    if (frame.bracket == Bracket::settings) return true;
  }
  return false;
}

// `B` in `traj : traj[B, T] = …`.
std::string on_dimension(const Cursor& cursor, const Pipeline& pipeline) {
  const FlowNode* node = around(pipeline.nodes, cursor.word_begin());
  if (node == nullptr) return "";
  for (const NodeOutput& output : node->outputs) {
    for (DimId id : output.dims) {
      const Dim& dim = pipeline.dims[id.index()];
      if (output.known && dim.name == cursor.word()) return describe(dim, pipeline);
    }
  }
  return "";
}

// An op, a named input, a type, the name of a built-in.
std::string on_other(const Cursor& cursor, const Analysis& analysis, const NameIndex& names, const Catalog& catalog) {
  const std::string word(cursor.word());
  const std::string_view keyword = cursor.statement_word(0);
  if (cursor.in_string()) {
    const auto& known = keyword == "data" ? catalog.data : catalog.rewards;
    const SourceSignature* source = find_source(known, "builtin", word);
    return source != nullptr && (keyword == "data" || keyword == "reward") ? describe(*source) : "";
  }
  std::optional<Kind> kind = kind_from_name(word);
  if (cursor.before(0) == ":" && kind) return describe(*kind);
  if (!cursor.in_flow()) return "";
  const Frame* top = cursor.top();
  if (top->bracket == Bracket::index) return on_dimension(cursor, analysis.pipeline);
  if (top->bracket == Bracket::call && cursor.starts_item()) {
    WrittenCall call = cursor.call_at(top->open);
    for (const NodeSignature* signature : fitting_signatures(call, analysis, names, catalog)) {
      for (const ArgumentSpec& argument : signature->arguments) {
        if (argument.name == word) return "`" + word + "` of `" + call.callee + "`\n\n" + argument.doc + "\n";
      }
    }
    return "";
  }
  const FlowNode* node = around(analysis.pipeline.nodes, cursor.word_begin());
  if (node != nullptr && node->op == word && node->signature != nullptr) return describe(*node->signature);
  std::vector<const NodeSignature*> signatures = signatures_of(catalog, word);
  return signatures.empty() ? "" : describe(*signatures.front());
}

}  // namespace

Hover hover_at(std::uint32_t byte, const Analysis& analysis, const NameIndex& names, const Catalog& catalog) {
  Cursor cursor(analysis.sources.file(kProgram).text, byte);
  if (cursor.in_comment() || cursor.word().empty()) return {};
  Hover hover{"", cursor.word_begin(), cursor.word_end()};
  const Occurrence* occurrence = cursor.in_string() ? nullptr : names.at(kProgram, byte);
  if (occurrence != nullptr) {
    hover.text = describe(names.definition(occurrence->definition), analysis.pipeline);
    hover.begin = occurrence->span.begin;
    hover.end = occurrence->span.end;
  } else if (in_settings(cursor) && !cursor.in_string()) {
    bool direct = cursor.top()->bracket == Bracket::settings;
    hover.text = direct ? on_setting(cursor, analysis, names, catalog)
                        : on_call_argument(cursor, block_owner(cursor, analysis, names, catalog));
  } else {
    hover.text = on_other(cursor, analysis, names, catalog);
    if (hover.text.empty() && !cursor.in_string()) hover.text = keyword_doc(cursor.word());
  }
  return hover;
}

}  // namespace rlflow::lsp
