// The formatter: text -> phrases -> lines -> columns -> text.
#include "compiler/format.h"

#include <algorithm>
#include <map>

#include "compiler/brackets.h"
#include "compiler/format_parts.h"
#include "compiler/parse.h"

namespace rlflow {
namespace {

using Run = std::vector<FormattedLine*>;

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void pad(const Run& run, std::size_t FormattedLine::*place) {
  std::size_t widest = 0;
  for (const FormattedLine* line : run) {
    if (line->*place != std::string::npos)
      widest = std::max(widest, columns(std::string_view(line->text).substr(0, line->*place)));
  }
  for (FormattedLine* line : run) {
    if (line->*place == std::string::npos) continue;
    std::size_t missing = widest - columns(std::string_view(line->text).substr(0, line->*place));
    line->text.insert(line->*place, missing, ' ');
    if (place == &FormattedLine::colon && line->sign != std::string::npos) line->sign += missing;
    line->*place += missing;
  }
}

void align_run(const Run& run) {
  pad(run, &FormattedLine::colon);
  pad(run, &FormattedLine::sign);
}

std::string joined(const std::vector<FormattedLine>& lines) {
  std::string text;
  for (const FormattedLine& line : lines) {
    if (line.blank_before) text += "\n";
    text.append(static_cast<std::size_t>(line.depth) * 2, ' ');
    text += line.text + "\n";
  }
  return text;
}

}  // namespace

void align(std::vector<FormattedLine>& lines) {
  std::map<int, Run> runs;  // by depth; the lines inside a statement's braces do not end its run
  auto end_from = [&runs](int depth) {
    for (auto it = runs.lower_bound(depth); it != runs.end(); it = runs.erase(it)) align_run(it->second);
  };
  for (FormattedLine& line : lines) {
    if (line.continues) {
      end_from(line.depth + 1);
      continue;
    }
    auto current = runs.find(line.depth);
    bool joins = current != runs.end() && !line.blank_before && current->second.front()->item == line.item;
    end_from(joins ? line.depth + 1 : line.depth);
    if (!line.item.empty()) runs[line.depth].push_back(&line);
  }
  end_from(0);
}

std::optional<std::string> format_source(std::string_view text) {
  SourceMap sources;
  FileId file = sources.add("", std::string(text));
  Diagnostics diagnostics;
  if (parse_file(file, sources, diagnostics); diagnostics.has_errors()) return std::nullopt;
  std::vector<Lexeme> lexemes = lex(text);
  SyntaxTree tree = parse_lexemes(balance(lexemes, file, sources, diagnostics).lexemes, Rule::file);
  std::vector<FormattedLine> lines = break_lines(lexemes, find_roles(tree.root, text), text);
  align(lines);
  return joined(lines);
}

}  // namespace rlflow
