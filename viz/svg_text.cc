// How do the words of a picture stay inside their boxes where the reader has another font?
#include "viz/svg_text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace rlflow {
namespace {

// The value of an attribute in one line of SVG; empty if it has none.
std::string attribute(const std::string& line, const std::string& name) {
  const std::size_t begin = line.find(" " + name + "=\"");
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + name.size() + 3;
  return line.substr(from, line.find('"', from) - from);
}

// The middle of the x coordinates in "M10,20C30,40 …" or "10,20 30,40 …".
std::optional<double> middle_of(const std::string& points) {
  std::optional<double> lo;
  std::optional<double> hi;
  bool is_x = true;
  for (const char* at = points.c_str(); *at != '\0';) {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at) {
      ++at;
      continue;
    }
    if (is_x) {
      lo = std::min(lo.value_or(number), number);
      hi = std::max(hi.value_or(number), number);
    }
    is_x = !is_x;
    at = end;
  }
  if (!lo) return std::nullopt;
  return (*lo + *hi) / 2;
}

std::string centered(std::string line, double middle) {
  const std::string anchor = "text-anchor=\"start\"";
  const std::size_t at = line.find(anchor);
  const std::string x = attribute(line, "x");
  if (at == std::string::npos || x.empty()) return line;
  char number[32];
  std::snprintf(number, sizeof number, "%.2f", middle);
  line.replace(line.find(" x=\"" + x + "\""), x.size() + 5, " x=\"" + std::string(number) + "\"");
  line.replace(at, anchor.size(), "text-anchor=\"middle\"");
  return line;
}

}  // namespace

std::string center_box_texts(const std::string& svg) {
  std::string out;
  bool in_box = false;
  std::optional<double> middle;  // of the box's outline
  for (std::size_t begin = 0; begin < svg.size();) {
    const std::size_t end = std::min(svg.find('\n', begin), svg.size());
    std::string line = svg.substr(begin, end - begin);
    if (line.starts_with("<g ")) {
      in_box = attribute(line, "class") == "node";
      middle.reset();
    } else if (in_box && !middle && line.starts_with("<path ")) {
      middle = middle_of(attribute(line, "d"));
    } else if (in_box && middle && line.starts_with("<text ")) {
      line = centered(std::move(line), *middle);
    }
    out += line;
    if (end < svg.size()) out += '\n';
    begin = end + 1;
  }
  return out;
}

}  // namespace rlflow
