// The text of messages: headline, places with the source and carets, notes and helps.
#include <algorithm>
#include <map>
#include <string>

#include "compiler/diagnostics.h"
#include "compiler/display.h"
#include "compiler/names.h"

namespace rlflow {
namespace {

constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kBlue = "\x1b[1;34m";
constexpr std::string_view kRed = "\x1b[1;31m";
constexpr std::string_view kYellow = "\x1b[1;33m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::size_t kLongestLine = 400;  // bytes; a longer line is named, not shown

// One label on one line, in columns of the printed text (from 0, half open).
struct Mark {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
  bool primary = false;
};

// Whether a terminal should see it: no zero bytes, nothing that is not UTF-8.
bool is_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos && first_invalid_utf8(text) == std::string_view::npos;
}

class Renderer {
 public:
  Renderer(const Diagnostic& diagnostic, const SourceMap& sources, bool colour)
      : diagnostic_(diagnostic), sources_(sources), colour_(colour) {}

  std::string run() {
    collect();
    headline();
    bool first = true;
    for (FileId file : files_) {
      if (!first) row("", "");
      snippet(file, first);
      first = false;
    }
    trailers();
    return std::move(out_);
  }

 private:
  std::string paint(std::string_view style, std::string_view text) const {
    if (!colour_) return std::string(text);
    return std::string(style) + std::string(text) + std::string(kReset);
  }
  std::string_view level_style() const { return diagnostic_.level == Level::error ? kRed : kYellow; }

  // Marks by file and line, and the width of the widest line number.
  void collect() {
    if (diagnostic_.primary.valid()) add(diagnostic_.primary, diagnostic_.primary_label, true);
    for (const Label& label : diagnostic_.labels) add(label.span, label.text, false);
    std::uint32_t widest = 0;
    for (const auto& [file, lines] : marks_) widest = std::max(widest, lines.rbegin()->first);
    gutter_ = std::to_string(widest).size();
  }

  void add(Span span, const std::string& text, bool primary) {
    if (marks_.count(span.file) == 0) files_.push_back(span.file);
    Position begin = sources_.position(span.file, span.begin);
    Position end = sources_.position(span.file, span.end);
    std::string_view line = sources_.line_text(span.file, begin.line);
    std::size_t start = sources_.file(span.file).line_starts[begin.line - 1];
    Mark mark{printed_column(line, begin.byte - start), 0, printable_text(text), primary};
    // A place of several lines is marked to the end of its first.
    mark.end = end.line == begin.line ? printed_column(line, end.byte - start) : printed_column(line, line.size());
    mark.end = std::max(mark.end, mark.begin + 1);
    marks_[span.file][begin.line].push_back(std::move(mark));
  }

  void headline() {
    std::string level = diagnostic_.level == Level::error ? "error" : "warning";
    out_ +=
        paint(level_style(), level + "[" + diagnostic_.code + "]") + paint(kBold, ": " + diagnostic_.message) + "\n";
  }

  std::string place_text(FileId file) const {
    if (sources_.is_command_line(file)) return kCommandLinePath;
    std::uint32_t byte = diagnostic_.primary.begin;
    if (file != diagnostic_.primary.file) {
      for (const Label& label : diagnostic_.labels) {
        if (label.span.file == file) byte = label.span.begin;
      }
    }
    Position at = sources_.position(file, byte);
    return sources_.file(file).path + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }

  std::string edge(std::string_view number) const {
    std::string pad(gutter_ - std::min(gutter_, number.size()), ' ');
    return paint(kBlue, pad + std::string(number) + " |");
  }
  void row(std::string_view number, const std::string& text) {
    out_ += edge(number) + (text.empty() ? "" : " " + text) + "\n";
  }

  void snippet(FileId file, bool first) {
    out_ += std::string(gutter_, ' ') + paint(kBlue, first ? "-->" : ":::") + " " + place_text(file) + "\n";
    if (sources_.file(file).text.empty() || !is_text(sources_.file(file).text)) return;
    row("", "");
    std::uint32_t last = 0;
    for (const auto& [line, marks] : marks_[file]) {
      if (last != 0 && line == last + 2)
        source_row(file, line - 1);
      else if (last != 0 && line > last + 2)
        out_ += paint(kBlue, "...") + "\n";
      source_row(file, line);
      if (sources_.line_text(file, line).size() <= kLongestLine) marked_rows(marks);
      last = line;
    }
  }

  void source_row(FileId file, std::uint32_t line) {
    std::string number = sources_.is_command_line(file) ? "" : std::to_string(line);
    std::string_view text = sources_.line_text(file, line);
    if (text.size() > kLongestLine) {
      row(number, "(a line of " + with_commas(static_cast<std::int64_t>(text.size())) + " bytes)");
    } else {
      row(number, printable_line(text));
    }
  }

  // The carets of one line, the last label behind them, the others beneath.
  void marked_rows(std::vector<Mark> marks) {
    std::sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
    std::string carets;
    for (const Mark& mark : marks) {
      if (carets.size() < mark.end) carets.resize(mark.end, ' ');
      for (std::size_t c = mark.begin; c < mark.end; ++c) {
        if (carets[c] != '^') carets[c] = mark.primary ? '^' : '-';
      }
    }
    bool beside = !marks.back().text.empty() && std::all_of(marks.begin(), marks.end() - 1,
                                                            [&](const Mark& m) { return m.end <= marks.back().begin; });
    std::string row_text = coloured(carets);
    if (beside) row_text += " " + paint(marks.back().primary ? level_style() : kBlue, marks.back().text);
    row("", row_text);
    for (std::size_t i = marks.size() - (beside ? 1 : 0); i-- > 0;) {
      if (marks[i].text.empty()) continue;
      row("", stem(marks, i) + paint(marks[i].primary ? level_style() : kBlue, marks[i].text));
    }
  }

  // Bars under the marks in front, then the column of mark i.
  std::string stem(const std::vector<Mark>& marks, std::size_t i) const {
    std::string text(marks[i].begin, ' ');
    for (std::size_t j = 0; j < i; ++j) {
      if (!marks[j].text.empty() && marks[j].begin < marks[i].begin) text[marks[j].begin] = '|';
    }
    return text;
  }

  std::string coloured(const std::string& carets) const {
    if (!colour_) return carets;
    std::string text;
    for (std::size_t i = 0; i < carets.size();) {
      std::size_t end = std::min(carets.find_first_not_of(carets[i], i), carets.size());
      std::string run = carets.substr(i, end - i);
      text += run[0] == ' ' ? run : paint(run[0] == '^' ? level_style() : kBlue, run);
      i = end;
    }
    return text;
  }

  void trailers() {
    if (diagnostic_.notes.empty() && diagnostic_.fixes.empty()) return;
    if (!marks_.empty()) row("", "");
    std::string pad(gutter_ + 1, ' ');
    for (const std::string& note : diagnostic_.notes)
      out_ += pad + paint(kBlue, "=") + " " + paint(kBold, "note") + ": " + printable_text(note) + "\n";
    for (const Fix& fix : diagnostic_.fixes)
      out_ += pad + paint(kBlue, "=") + " " + paint(kBold, "help") + ": " + printable_text(fix.title) + "\n";
  }

  const Diagnostic& diagnostic_;
  const SourceMap& sources_;
  bool colour_;
  std::string out_;
  std::vector<FileId> files_;  // in the order in which they are named
  std::map<FileId, std::map<std::uint32_t, std::vector<Mark>>> marks_;
  std::size_t gutter_ = 1;
};

}  // namespace

std::string render(const Diagnostic& diagnostic, const SourceMap& sources, const RenderOptions& options) {
  return Renderer(diagnostic, sources, options.colour).run();
}

std::string render_all(const std::vector<Diagnostic>& list, const SourceMap& sources, const RenderOptions& options) {
  if (list.empty()) return "";
  std::size_t shown = options.at_most == 0 ? list.size() : std::min(list.size(), options.at_most);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += render(list[i], sources, options) + "\n";
  if (shown < list.size()) text += "and " + std::to_string(list.size() - shown) + " more\n";
  auto errors = static_cast<std::int64_t>(count_level(list, Level::error));
  auto warnings = static_cast<std::int64_t>(count_level(list, Level::warning));
  if (errors > 0) text += counted(errors, "error") + (warnings > 0 ? ", " : "");
  if (warnings > 0) text += counted(warnings, "warning");
  return text + "\n";
}

}  // namespace rlflow
