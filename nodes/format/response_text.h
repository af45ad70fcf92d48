// How a response ends, and the text of it that a judge or a person reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nodes/format/tokenizer.h"

namespace rlflow {

// The numbers stand in payloads.
enum class FinishReason : std::uint8_t {
  end = 0,     // an end token was produced
  length = 1,  // cut off at max_new
  stop = 2,    // its text reached a stop text
};

const char* finish_name(FinishReason reason);  // "end", "length", "stop"

// Texts that end a response when they stand in its decoded text. Immutable; any thread may use it, as long as the
// tokenizer lives.
class StopTexts {
 public:
  StopTexts(const Tokenizer& tokenizer, std::vector<std::string> texts);

  // Whether the newest token completes a stop text: one stands in the text of `ids` that was not there before it.
  // Decodes only as many tokens of the end as the longest text may reach over.
  bool completed_by_last(std::span<const std::int32_t> ids) const;

  // Where that text begins in decode(ids); nullopt where the last token completes none. Of several the first.
  std::optional<std::size_t> position(std::span<const std::int32_t> ids) const;

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  const Tokenizer& tokenizer_;
  std::vector<std::string> texts_;  // none empty
  std::size_t longest_ = 0;         // bytes
};

// `ids` as a judge reads them: one end token at the end left out; where a response ended by a stop text, what stands
// before that text.
std::string response_text(const Tokenizer& tokenizer, std::span<const std::int32_t> ids, FinishReason finish,
                          const std::vector<std::string>& stop);

}  // namespace rlflow
