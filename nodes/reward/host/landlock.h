// Landlock: which paths a process and its children may use, kept by the kernel.
#pragma once

#include <string>
#include <vector>

namespace rlflow::reward_host {

struct FileRights {
  std::vector<std::string> readable;  // files and folders to read and execute
  std::vector<std::string> listable;  // folders whose names may be listed, with all below
  std::vector<std::string> writable;  // folders
  std::vector<std::string> devices;   // files to read and write
};

// 0 where the kernel has no Landlock.
int landlock_version();

// For this process, which must have no_new_privs, for good: the rights alone; no signals to processes outside where
// the kernel knows that (version 6). Paths that do not exist are left out. Returns why not, or "".
std::string restrict_files(const FileRights& rights);

// `folder` as paths that cover everything in it but what is `hidden`.
std::vector<std::string> all_but(const std::string& folder, const std::vector<std::string>& hidden);

}  // namespace rlflow::reward_host
