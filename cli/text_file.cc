// Text files of the user, through POSIX calls: only they can sync and keep a file's mode.
#include "cli/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace rlflow {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMoreThanAProgram = (1 << 20) + 1;

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw std::runtime_error("cannot " + what + " `" + path + "`: " + std::strerror(errno));
}

void write_all(int descriptor, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    ssize_t count = write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", path);
    done += static_cast<std::size_t>(count);
  }
  if (fsync(descriptor) != 0) fail("sync", path);
}

}  // namespace

std::string read_text_file(const std::string& path) {
  errno = 0;
  if (fs::is_directory(path)) throw std::runtime_error("cannot read `" + path + "`: it is a folder");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read", path);
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) fail("read", path);
  return text.str();
}

std::string read_standard_input() {
  std::string text(kMoreThanAProgram, '\0');
  std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::cin.gcount()));
  return text;
}

void replace_text_file(const std::string& path, const std::string& text) {
  std::error_code error;
  const std::string target = fs::exists(path) ? fs::canonical(path, error).string() : path;
  struct stat status {};
  const mode_t mode = stat(target.c_str(), &status) == 0 ? status.st_mode & 0777 : 0644;
  const std::string beside = target + ".rlflow-" + std::to_string(getpid());
  int descriptor = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor < 0) fail("write", beside);
  try {
    write_all(descriptor, text, beside);
    if (fchmod(descriptor, mode) != 0) fail("set the mode of", beside);
    if (rename(beside.c_str(), target.c_str()) != 0) fail("replace", target);
  } catch (...) {
    close(descriptor);
    unlink(beside.c_str());
    throw;
  }
  close(descriptor);
}

}  // namespace rlflow
