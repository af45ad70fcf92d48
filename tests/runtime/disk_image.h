// What is left on a disk when the power goes away?
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/recorded_disk.h"

namespace rlflow::testing {

// A small generator of its own, so that a failure names its case.
struct Draw {
  std::uint64_t state;
  int below(int bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(bound));
  }
};

// The model is harsher than a journalling file system: bytes live from their file's sync on, names from their folder's
// sync on, each by itself. Operations name files by path, so no file may be open while it is renamed.
class DiskImage {
 public:
  // Empty below `root`, or as the folder lies there now, all of it durable.
  explicit DiskImage(std::filesystem::path root, bool load = false);

  void apply(const DiskOp& op);
  // Grows with every operation that changed what is durable.
  std::uint64_t durable_changes() const { return durable_changes_; }

  // Writes into `folder`, made anew: the durable alone; or, of what is not durable, what chance keeps, writes torn at
  // sectors of 512 bytes.
  void save_durable(const std::filesystem::path& folder) const;
  void save_random(const std::filesystem::path& folder, Draw& draw) const;

 private:
  using Bytes = std::vector<std::byte>;
  struct Entry;
  using Names = std::map<std::string, std::shared_ptr<Entry>>;  // shared: a name that is durable and one that is not
  struct Entry {
    bool folder = false;
    Bytes now;
    Bytes durable;
    std::vector<DiskOp> pending;  // since the last sync
    Names names;
    Names durable_names;
  };
  std::shared_ptr<Entry> find(const std::filesystem::path& path) const;
  Names& names_above(const std::filesystem::path& path);
  void load(Entry& folder, const std::filesystem::path& path);
  static void change(Bytes& bytes, const DiskOp& op);
  static void save(const Entry& folder, const std::filesystem::path& path, Draw* draw);
  static Names chosen_names(const Entry& folder, Draw* draw);
  static Bytes chosen_bytes(const Entry& file, Draw* draw);

  std::filesystem::path root_;
  std::shared_ptr<Entry> top_;
  std::uint64_t durable_changes_ = 0;
};

}  // namespace rlflow::testing
