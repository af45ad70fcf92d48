// Which bracket was left open, and which newlines end a statement: the two rules between lexer and parser.
#pragma once

#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/syntax_tree.h"

namespace rlflow {

inline constexpr int kMaxDepth = 64;

struct Balanced {
  std::vector<Lexeme> lexemes;  // for the parser: brackets in pairs, no white space, no newline inside ( ) or [ ]
  std::vector<Span> suspect;    // from an open bracket to where it showed: syntax errors there have that one cause
  bool too_deep = false;        // reported; the parser must not see these lexemes
};

Balanced balance(const std::vector<Lexeme>& lexemes, FileId file, const SourceMap& sources, Diagnostics& diagnostics);

}  // namespace rlflow
