// fork and two pipes. Its own framing, so that it does not agree with the server's by construction.
#include "tests/lsp/server_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace rlflow::testing {

ServerProcess::ServerProcess() {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  std::signal(SIGPIPE, SIG_IGN);  // a server that is gone is seen when its answer does not come
  child_ = fork();
  if (child_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    const char* program = RLFLOW_BINARY_DIR "/rlflow";
    execl(program, program, "lsp", "--stdio", nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_server_ = in[1];
  from_server_ = out[0];
}

ServerProcess::~ServerProcess() {
  if (child_ > 0) kill(child_, SIGKILL);
  end();
  close(from_server_);
}

int ServerProcess::end() {
  if (to_server_ >= 0) close(to_server_);
  to_server_ = -1;
  if (child_ <= 0) return -1;
  int status = 0;
  waitpid(child_, &status, 0);
  child_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ServerProcess::send(const std::string& content) {
  send_bytes("Content-Length: " + std::to_string(content.size()) + "\r\n\r\n" + content);
}

void ServerProcess::send_bytes(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    ssize_t count = write(to_server_, bytes.data() + sent, bytes.size() - sent);
    if (count <= 0) throw std::runtime_error("the server does not read any more");
    sent += static_cast<std::size_t>(count);
  }
}

void ServerProcess::fill() {
  char buffer[65536];
  ssize_t count = read(from_server_, buffer, sizeof buffer);
  if (count <= 0) throw std::runtime_error("the server closed its stream");
  received_.append(buffer, static_cast<std::size_t>(count));
}

std::string ServerProcess::read_until(const std::string& mark) {
  while (received_.find(mark) == std::string::npos) fill();
  std::size_t place = received_.find(mark);
  std::string text = received_.substr(0, place);
  received_.erase(0, place + mark.size());
  return text;
}

nlohmann::json ServerProcess::receive() {
  const std::string header = read_until("\r\n\r\n"), name = "Content-Length: ";
  if (!header.starts_with(name)) throw std::runtime_error("no header: " + header);
  const std::size_t length = std::stoul(header.substr(name.size()));
  while (received_.size() < length) fill();
  nlohmann::json message = nlohmann::json::parse(received_.substr(0, length));
  received_.erase(0, length);
  return message;
}

}  // namespace rlflow::testing
