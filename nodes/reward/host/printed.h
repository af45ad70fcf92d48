// The end of what a worker prints, and how much it was.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rlflow::reward_host {

class Printed {
 public:
  void add(std::string_view bytes) {
    total_ += bytes.size();
    kept_.append(bytes);
    if (kept_.size() > 2 * kKept) kept_.erase(0, kept_.size() - kKept);
  }
  std::uint64_t total() const { return total_; }
  std::string text() const {
    if (kept_.size() <= kKept && kept_.size() == total_) return kept_;
    return "[…]" + (kept_.size() > kKept ? kept_.substr(kept_.size() - kKept) : kept_);
  }

 private:
  static constexpr std::size_t kKept = 8192;
  std::string kept_;
  std::uint64_t total_ = 0;
};

}  // namespace rlflow::reward_host
