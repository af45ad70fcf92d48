// `rlflow lsp` as an editor starts it: a child process and the bytes between.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

namespace rlflow::testing {

// Its destructor kills a server that still runs.
class ServerProcess {
 public:
  ServerProcess();
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  void send(const std::string& content);  // with its header
  void send_bytes(const std::string& bytes);
  // Blocks until a whole message is there. Throws std::runtime_error where the server closes its stream before.
  nlohmann::json receive();
  // Closes the server's input and waits for its end; -1 if it died of a signal.
  int end();
  pid_t id() const { return child_; }

 private:
  std::string read_until(const std::string& mark);
  void fill();  // more bytes into what was received

  pid_t child_ = -1;
  int to_server_ = -1;
  int from_server_ = -1;
  std::string received_;
};

}  // namespace rlflow::testing
