// How is the worker's file system put together from bind mounts?
#include "nodes/reward/host/view.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "nodes/reward/host/failed_call.h"

namespace rlflow::reward_host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSystem[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "opt", "nix"};
// Of /etc only what programs look up, none of it secret.
constexpr const char* kEtc[] = {"alternatives",  "ca-certificates", "fonts",     "group",        "hosts",
                                "ld.so.cache",   "ld.so.conf",      "localtime", "ld.so.conf.d", "mime.types",
                                "nsswitch.conf", "passwd",          "perl",      "resolv.conf",  "ssl"};
constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom"};
constexpr const char* kOld = "/old";  // the file system as it was, while the view is made
constexpr const char* kNew = "/new";
constexpr const char* kWritable = "mode=1777,size=256m";

bool make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return fs::is_directory(path, error);
}

// Makes `path` read-only with everything mounted below it.
bool protect(const std::string& path, unsigned flags) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  return syscall(SYS_mount_setattr, AT_FDCWD, path.c_str(), flags, &attributes, sizeof attributes) == 0;
}

// `path` of the old file system at the same place of the new one, read-only. A link stays a link.
std::string show(const fs::path& path) {
  const fs::path from = kOld + path.string(), to = kNew + path.string();
  struct stat status {};
  if (lstat(from.c_str(), &status) != 0) return "";
  std::error_code error;
  if (S_ISLNK(status.st_mode)) {
    if (make_folders(to.parent_path())) fs::copy_symlink(from, to, error);
    return error ? "link " + path.string() + ": " + error.message() : "";
  }
  if (S_ISDIR(status.st_mode)) {
    make_folders(to);
  } else if (!fs::exists(to, error) && make_folders(to.parent_path())) {
    close(open(to.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  }
  if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return failed_call("bind " + path.string());
  return protect(to, AT_RECURSIVE) ? "" : failed_call("read-only " + path.string());
}

std::string mount_memory(const std::string& path, const char* settings, unsigned long flags = 0) {
  if (!make_folders(path)) return failed_call("folder " + path);
  if (mount("tmpfs", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | flags, settings) == 0) return "";
  return failed_call("tmpfs at " + path);
}

std::string leave_old_root() {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failed_call("private mounts");
  if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m") != 0) return failed_call("tmpfs");
  if (!make_folders("/tmp/old")) return failed_call("folder");
  if (syscall(SYS_pivot_root, "/tmp", "/tmp/old") != 0 || chdir("/") != 0) return failed_call("pivot_root");
  return mount_memory(kNew, "mode=0755,size=1m");
}

std::string make_devices() {
  if (!make_folders(std::string(kNew) + "/dev")) return failed_call("folder /dev");
  for (const char* name : kDevices) {
    const std::string to = std::string(kNew) + "/dev/" + name, from = std::string(kOld) + "/dev/" + name;
    close(open(to.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return failed_call("bind /dev/" + std::string(name));
  }
  std::error_code error;
  fs::create_symlink("/proc/self/fd", std::string(kNew) + "/dev/fd", error);
  return mount_memory(std::string(kNew) + "/dev/shm", kWritable);
}

// Without: a container may hide parts of its own /proc and then forbids another.
void make_proc() {
  const std::string proc = std::string(kNew) + "/proc";
  make_folders(proc);
  static_cast<void>(mount("proc", proc.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr));
}

std::string hide(const HostOptions& options) {
  for (const std::string& path : options.hidden) {
    const std::string at = kNew + path;
    std::error_code error;
    if (!fs::is_directory(at, error)) continue;
    if (mount("tmpfs", at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "mode=0,size=4k") != 0) {
      return failed_call("hide " + path);
    }
  }
  return "";
}

std::string fill(const HostOptions& options) {
  std::string why = mount_memory(std::string(kNew) + "/tmp", kWritable);
  if (why.empty()) why = make_devices();
  make_proc();
  for (const char* name : kSystem) {
    if (why.empty()) why = show(fs::path("/") / name);
  }
  for (const char* name : kEtc) {
    if (why.empty()) why = show(fs::path("/etc") / name);
  }
  for (const std::string& path : options.readable) {
    if (why.empty()) why = show(path);
  }
  if (why.empty() && !options.helper.empty()) why = show(options.helper);
  if (why.empty()) why = show(options.root);
  return why.empty() ? hide(options) : why;
}

}  // namespace

std::string enter_view(const HostOptions& options) {
  if (options.root.size() < 2) return "the project root is /";
  std::string why = leave_old_root();
  if (why.empty()) why = fill(options);
  if (!why.empty()) return why;
  if (!protect(kNew, 0)) return failed_call("read-only root");
  if (chdir(kNew) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return failed_call("pivot_root");
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return failed_call("leave the old root");
  return "";
}

}  // namespace rlflow::reward_host
