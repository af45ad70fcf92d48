// The frames around the cursor, matched with the call that is being written.
#include "cli/lsp/call_place.h"

#include <algorithm>

#include "cli/lsp/owner.h"

namespace rlflow::lsp {
namespace {

// The call whose argument this call is; null where it is of none.
const Frame* outer_call(const Cursor& cursor, const Frame& call) {
  const std::vector<Frame>& frames = cursor.frames();
  for (std::size_t i = 1; i < frames.size(); ++i) {
    if (&frames[i] == &call && frames[i - 1].bracket == Bracket::call) return &frames[i - 1];
  }
  return nullptr;
}

}  // namespace

const Frame* settings_around(const Cursor& cursor, const Frame& call) {
  const std::vector<Frame>& frames = cursor.frames();
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    if (frames[i].bracket == Bracket::settings && &frames[i] != &call) return &frames[i];
  }
  return nullptr;
}

const CallSpec* called(const Cursor& cursor, const SettingSpec& spec, const Frame& frame, const std::string& callee) {
  if (const CallSpec* direct = find_call(spec, callee)) return direct;
  const Frame* outer = outer_call(cursor, frame);
  const CallSpec* around = outer != nullptr ? find_call(spec, cursor.call_at(outer->open).callee) : nullptr;
  const SettingSpec* argument =
      around != nullptr ? call_argument(*around, outer->commas, cursor.item_name(*outer)) : nullptr;
  return argument != nullptr ? find_call(*argument, callee) : nullptr;
}

WrittenCall without_current(WrittenCall call, const Frame& frame) {
  if (call.arguments.size() > frame.commas) {
    call.arguments.erase(call.arguments.begin() + static_cast<std::ptrdiff_t>(frame.commas));
  }
  call.arguments.resize(std::min(call.arguments.size(), frame.commas));
  return call;
}

const ArgumentSpec* argument_at(const NodeSignature& signature, const WrittenCall& call, const Frame& frame,
                                const std::string& named) {
  std::size_t place = frame.commas;
  for (std::size_t i = 0; i < std::min(frame.commas, call.arguments.size()); ++i) {
    if (!call.arguments[i].name.empty()) --place;
  }
  std::size_t position = 0;
  for (const ArgumentSpec& spec : signature.arguments) {
    if (!named.empty() ? spec.name == named : !spec.named_only && (position == place || spec.variadic)) return &spec;
    position += spec.named_only ? 0 : 1;
  }
  return nullptr;
}

}  // namespace rlflow::lsp
