// A small file system of a test's own, where the system allows one to be mounted.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/process.h"

namespace rlflow::testing {

// tmpfs: in memory. ext4: in a file of the scratch folder, through a loop device; its power can be taken away.
// Mounted for as long as it lives. Where that is not allowed `why_not` says so, and the test skips.
class MountedDisk {
 public:
  enum class Kind { tmpfs, ext4 };
  MountedDisk(Kind kind, std::uint64_t bytes);
  ~MountedDisk();
  MountedDisk(const MountedDisk&) = delete;
  MountedDisk& operator=(const MountedDisk&) = delete;

  const std::string& why_not() const { return why_not_; }  // empty: it is mounted
  std::string path() const { return folder_.path() + "/disk"; }

  void set_read_only(bool read_only);
  // ext4: everything that was not synced is gone, and every operation fails until it is mounted again.
  void take_power_away();
  void mount_again();  // nobody may have a file of it open
  // A file that leaves about this much room.
  void fill_but(std::uint64_t bytes);
  void remove_filling();

 private:
  bool mount_image();
  void unmount();

  ScratchFolder folder_{"mounted"};
  std::string why_not_;
  bool mounted_ = false;
};

}  // namespace rlflow::testing
