// Reads TOML into overrides; the only file that knows toml++.
#include "compiler/override_file.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace rlflow {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class Reader {
 public:
  Reader(FileId file, const SourceMap& sources, Diagnostics& diagnostics)
      : file_(file), sources_(sources), diagnostics_(diagnostics) {}

  std::vector<Override> run() {
    toml::parse_result parsed = toml::parse(std::string_view(sources_.file(file_).text));
    if (parsed) {
      read_table(parsed.table(), "");
      // toml++ sorts tables by key; messages follow the file.
      std::sort(list_.begin(), list_.end(),
                [](const Override& a, const Override& b) { return a.span.begin < b.span.begin; });
      return std::move(list_);
    }
    report_syntax(parsed.error());
    return {};
  }

 private:
  // toml++ counts lines and code points from 1 and skips a byte order mark.
  std::uint32_t byte_of(toml::source_position at) const {
    const SourceFile& source = sources_.file(file_);
    if (at.line == 0 || at.line > source.line_starts.size()) return static_cast<std::uint32_t>(source.text.size());
    std::size_t byte = source.line_starts[at.line - 1];
    if (at.line == 1 && source.text.starts_with(kByteOrderMark)) byte += kByteOrderMark.size();
    for (toml::source_index column = 1; column < at.column && byte < source.text.size(); ++column) {
      ++byte;
      while (byte < source.text.size() && (static_cast<unsigned char>(source.text[byte]) & 0xC0) == 0x80) ++byte;
    }
    return static_cast<std::uint32_t>(byte);
  }
  Span span_of(const toml::source_region& region) const {
    Span span{file_, byte_of(region.begin), byte_of(region.end)};
    span.end = std::max(span.end, span.begin);
    return span;
  }

  void report_syntax(const toml::parse_error& error) {
    std::string why(error.description());
    for (const char* prefix : {"Error while parsing ", "key-value pair: ", "value: "}) {
      if (why.starts_with(prefix)) why.erase(0, std::string_view(prefix).size());
    }
    diagnostics_.error("E0218", span_of(error.source()), "this is not TOML")
        .label(why)
        .help("numbers and true or false stand as they are, all else in quotes: `emit = \"group\"`");
  }

  void read_table(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      std::string address = prefix + std::string(key.str());
      if (const toml::table* inner = node.as_table()) {
        read_table(*inner, address + ".");
        continue;
      }
      read_value(node, address, span_of(key.source()));
    }
  }

  void read_value(const toml::node& node, const std::string& address, Span key) {
    Override entry;
    entry.origin = Origin::overrides_file;
    entry.address = address;
    entry.address_span = key;
    entry.value_span = span_of(node.source());
    entry.span = {file_, key.begin, std::max(key.end, entry.value_span.end)};
    if (!is_override_address(address)) {
      diagnostics_.error("E0216", key, "`" + address + "` cannot be the address of anything")
          .note("an address is made of names and dots, e.g. `traj.temperature`");
      return;
    }
    if (const toml::value<std::string>* text = node.as_string()) {
      read_string(text->get(), entry);
    } else {
      std::optional<Value> value = value_of(node);
      if (!value) return;
      entry.text = to_text(*value);
      entry.expr = expression_of(*value, entry.value_span);
      entry.is_text = false;
    }
    list_.push_back(std::move(entry));
  }

  // The text between the quotes is read like an override of the command line.
  void read_string(const std::string& text, Override& entry) const {
    entry.text = text;
    Span inside{file_, entry.value_span.begin + 1, entry.value_span.end - 1};
    bool quoted = entry.value_span.end >= entry.value_span.begin + 2;
    entry.is_escaped = !quoted || sources_.text(inside) != text;
    if (!entry.is_escaped) entry.value_span = inside;
  }

  std::optional<Value> value_of(const toml::node& node) {
    if (const auto* whole = node.as_integer()) return Value(std::int64_t{whole->get()});
    if (const auto* truth = node.as_boolean()) return Value(bool{truth->get()});
    if (const auto* text = node.as_string()) return Value(std::string(text->get()));
    if (const auto* real = node.as_floating_point(); real != nullptr && std::isfinite(real->get())) {
      return Value(double{real->get()});
    }
    if (const toml::array* array = node.as_array()) {
      List list;
      for (const toml::node& item : *array) {
        std::optional<Value> value = value_of(item);
        if (!value) return std::nullopt;
        list.push_back(std::move(*value));
      }
      return Value(std::move(list));
    }
    diagnostics_.error("E0218", span_of(node.source()), "nothing can be set to this")
        .note("values are numbers, true and false, lists of them, and strings")
        .help("write it as on the command line, in quotes: `timeout = \"5s\"`");
    return std::nullopt;
  }

  static ast::Expr expression_of(const Value& value, Span span) {
    if (const auto* whole = value.get<std::int64_t>()) return {ast::Number{.whole = *whole, .unit = {}}, span};
    if (const double* real = value.get<double>())
      return {ast::Number{.is_whole = false, .real = *real, .unit = {}}, span};
    if (const bool* truth = value.get<bool>()) return {ast::Boolean{*truth}, span};
    if (const auto* text = value.get<std::string>()) return {ast::String{*text}, span};
    ast::ListExpr list;
    for (const Value& item : *value.get<List>()) list.items.push_back(expression_of(item, span));
    return {std::move(list), span};
  }

  FileId file_;
  const SourceMap& sources_;
  Diagnostics& diagnostics_;
  std::vector<Override> list_;
};

}  // namespace

std::vector<Override> read_override_file(const std::string& path, std::string text, SourceMap& sources,
                                         Diagnostics& diagnostics) {
  FileId file = sources.add(path, std::move(text));
  const std::string& bytes = sources.file(file).text;
  if (std::size_t bad = first_invalid_utf8(bytes); bad != std::string_view::npos || bytes.find('\0') < bytes.size()) {
    auto at = static_cast<std::uint32_t>(std::min(bad, bytes.find('\0')));
    diagnostics.error("E0218", {file, at, at}, "this is not TOML").label("not UTF-8 text");
    return {};
  }
  return Reader(file, sources, diagnostics).run();
}

}  // namespace rlflow
