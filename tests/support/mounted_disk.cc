// mount(2), mkfs and the shutdown of ext4.
#include "tests/support/mounted_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace rlflow::testing {
namespace {

// Of the kernel's ext4: the file system goes down as it is, and its journal is not written out.
constexpr unsigned long kShutdown = _IOR('X', 125, std::uint32_t);
constexpr std::uint32_t kWithoutLog = 2;

std::string cause() { return std::strerror(errno); }

}  // namespace

MountedDisk::MountedDisk(Kind kind, std::uint64_t bytes) {
  std::filesystem::create_directory(path());
  if (kind == Kind::tmpfs) {
    const std::string options = "size=" + std::to_string(bytes);
    mounted_ = mount("none", path().c_str(), "tmpfs", 0, options.c_str()) == 0;
    if (!mounted_) why_not_ = "cannot mount a tmpfs: " + cause();
    return;
  }
  const std::string image = folder_.path() + "/image";
  write_file(image, "");
  std::filesystem::resize_file(image, bytes);
  ProcessResult made = run_process({"/sbin/mkfs.ext4", "-q", "-F", image});
  if (made.exit_code != 0) {
    why_not_ = "mkfs.ext4: " + (made.exit_code == 127 ? std::string("there is none") : made.err);
  } else if (!mount_image()) {
    why_not_ = "no loop device, or none may be mounted";
  }
}

MountedDisk::~MountedDisk() { unmount(); }

bool MountedDisk::mount_image() {
  ProcessResult result = run_process({"mount", "-o", "loop", folder_.path() + "/image", path()});
  mounted_ = result.exit_code == 0;
  return mounted_;
}

void MountedDisk::unmount() {
  if (!mounted_) return;
  EXPECT_EQ(umount(path().c_str()), 0) << path() << ": " << cause();
  mounted_ = false;
}

void MountedDisk::set_read_only(bool read_only) {
  unsigned long flags = MS_REMOUNT | (read_only ? MS_RDONLY : 0);
  ASSERT_EQ(mount(nullptr, path().c_str(), nullptr, flags, nullptr), 0) << cause();
}

void MountedDisk::take_power_away() {
  int descriptor = open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::uint32_t how = kWithoutLog;
  EXPECT_EQ(ioctl(descriptor, kShutdown, &how), 0) << cause();
  close(descriptor);
}

void MountedDisk::mount_again() {
  unmount();
  ASSERT_TRUE(mount_image()) << "it cannot be mounted again";
}

void MountedDisk::fill_but(std::uint64_t bytes) {
  std::uint64_t room = std::filesystem::space(path()).available;
  ASSERT_GT(room, bytes);
  int descriptor = open((path() + "/filling").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_EQ(posix_fallocate(descriptor, 0, static_cast<off_t>(room - bytes)), 0);
  close(descriptor);
}

void MountedDisk::remove_filling() { std::filesystem::remove(path() + "/filling"); }

}  // namespace rlflow::testing
