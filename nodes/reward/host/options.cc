// How are the host's options written and read?
#include "nodes/reward/host/options.h"

#include <stdexcept>

namespace rlflow::reward_host {
namespace {

const char* wanted_name(Wanted wanted) {
  switch (wanted) {
    case Wanted::best: return "best";
    case Wanted::full: return "full";
    case Wanted::basic: return "basic";
    case Wanted::off: return "off";
  }
  return "best";
}

Wanted wanted_from(const std::string& name) {
  for (Wanted wanted : {Wanted::best, Wanted::full, Wanted::basic, Wanted::off}) {
    if (name == wanted_name(wanted)) return wanted;
  }
  throw std::runtime_error("no sandbox is called " + name);
}

}  // namespace

std::vector<std::string> to_arguments(const HostOptions& options) {
  std::vector<std::string> arguments = {"--sandbox", wanted_name(options.sandbox),
                                        "--network", options.network ? "1" : "0",
                                        "--root",    options.root,
                                        "--helper",  options.helper,
                                        "--memory",  std::to_string(options.memory_bytes),
                                        "--recycle", std::to_string(options.recycle_bytes),
                                        "--output",  std::to_string(options.output_bytes),
                                        "--most",    std::to_string(options.processes)};
  for (const std::string& path : options.hidden) arguments.insert(arguments.end(), {"--hide", path});
  for (const std::string& path : options.readable) arguments.insert(arguments.end(), {"--read", path});
  arguments.push_back("--");
  arguments.insert(arguments.end(), options.command.begin(), options.command.end());
  return arguments;
}

HostOptions from_arguments(const std::vector<std::string>& arguments) {
  HostOptions options;
  std::size_t i = 0;
  for (; i + 1 < arguments.size() && arguments[i] != "--"; i += 2) {
    const std::string &name = arguments[i], &value = arguments[i + 1];
    if (name == "--sandbox")
      options.sandbox = wanted_from(value);
    else if (name == "--network")
      options.network = value == "1";
    else if (name == "--root")
      options.root = value;
    else if (name == "--helper")
      options.helper = value;
    else if (name == "--memory")
      options.memory_bytes = std::stoull(value);
    else if (name == "--recycle")
      options.recycle_bytes = std::stoull(value);
    else if (name == "--output")
      options.output_bytes = std::stoull(value);
    else if (name == "--most")
      options.processes = std::stoull(value);
    else if (name == "--hide")
      options.hidden.push_back(value);
    else if (name == "--read")
      options.readable.push_back(value);
    else
      throw std::runtime_error("rlflow starts this program; it knows no option " + name);
  }
  if (i + 1 >= arguments.size()) throw std::runtime_error("rlflow starts this program; it was given no command");
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end());
  return options;
}

}  // namespace rlflow::reward_host
