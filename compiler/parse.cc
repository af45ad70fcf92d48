// Text -> tokens -> phrases, by ANTLR: the only file of the project that includes it.
#include <antlr4-runtime.h>

#include <set>
#include <typeinfo>

#include "compiler/syntax_tree.h"
#include "grammar/RlFlowLexer.h"
#include "grammar/RlFlowParser.h"

namespace rlflow {
namespace {

using antlr4::ParserRuleContext;
using grammar::RlFlowLexer;
using grammar::RlFlowParser;

static_assert(static_cast<int>(Terminal::k_import) == RlFlowParser::IMPORT);
static_assert(static_cast<int>(Terminal::k_steps) == RlFlowParser::STEPS);
static_assert(static_cast<int>(Terminal::rbrace) == RlFlowParser::RBRACE);
static_assert(static_cast<int>(Terminal::modulo) == RlFlowParser::MODULO);
static_assert(static_cast<int>(Terminal::not_equal) == RlFlowParser::NOT_EQUAL);
static_assert(static_cast<int>(Terminal::bad_char) == RlFlowParser::BAD_CHAR);
static_assert(static_cast<int>(Rule::file) == RlFlowParser::RuleFile);
static_assert(static_cast<int>(Rule::settings) == RlFlowParser::RuleSettings);
static_assert(static_cast<int>(Rule::word) == RlFlowParser::RuleWord);

Terminal terminal_of(std::size_t antlr_type) {
  return antlr_type == antlr4::Token::EOF ? Terminal::end : static_cast<Terminal>(antlr_type);
}

// Hands our lexemes to the parser. The token's index in the stream is the lexeme's index.
class LexemeSource final : public antlr4::TokenSource {
 public:
  explicit LexemeSource(const std::vector<Lexeme>& lexemes) : lexemes_(lexemes) {}

  std::unique_ptr<antlr4::Token> nextToken() override {
    const Lexeme& lexeme = lexemes_[std::min(next_, lexemes_.size() - 1)];
    ++next_;
    bool at_end = lexeme.type == Terminal::end;
    return std::make_unique<antlr4::CommonToken>(at_end ? antlr4::Token::EOF : static_cast<std::size_t>(lexeme.type));
  }
  std::size_t getLine() const override { return 0; }
  std::size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream* getInputStream() override { return nullptr; }
  std::string getSourceName() override { return "program"; }
  antlr4::TokenFactory<antlr4::CommonToken>* getTokenFactory() override { return nullptr; }

 private:
  const std::vector<Lexeme>& lexemes_;
  std::size_t next_ = 0;
};

// How deep in braces and in parentheses or square brackets each lexeme stands; a closer counts as inside.
struct Depths {
  std::vector<int> braces;
  std::vector<int> parens;

  explicit Depths(const std::vector<Lexeme>& lexemes) {
    int brace = 0;
    int paren = 0;
    for (const Lexeme& lexeme : lexemes) {
      braces.push_back(brace);
      parens.push_back(paren);
      if (lexeme.type == Terminal::lbrace) ++brace;
      if (lexeme.type == Terminal::rbrace) --brace;
      if (lexeme.type == Terminal::lparen || lexeme.type == Terminal::lbracket) ++paren;
      if (lexeme.type == Terminal::rparen || lexeme.type == Terminal::rbracket) paren = std::max(0, paren - 1);
      if (lexeme.type == Terminal::newline) paren = 0;  // brackets are in pairs; a closer too many ends with its line
    }
  }
};

// Goes on after a syntax error at the next newline, closing brace or comma of the phrase that holds lines:
// the file, a block, a settings block. Writes down one error for each such place.
class LineRecovery final : public antlr4::DefaultErrorStrategy {
 public:
  explicit LineRecovery(const std::vector<Lexeme>& lexemes) : lexemes_(lexemes), depths_(lexemes) {}

  std::vector<SyntaxError> errors;
  std::vector<Lexeme> unread;
  std::set<const ParserRuleContext*> broken;

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override {
    auto* mismatch = dynamic_cast<const antlr4::InputMismatchException*>(&e);
    bool exact = mismatch != nullptr || dynamic_cast<const antlr4::NoViableAltException*>(&e) == nullptr ||
                 static_cast<const antlr4::NoViableAltException&>(e).getStartToken() == e.getOffendingToken();
    std::size_t at = e.getOffendingToken()->getTokenIndex();
    record(parser, at, exact ? e.getExpectedTokens() : antlr4::misc::IntervalSet());
  }

  void recover(antlr4::Parser* parser, std::exception_ptr) override {
    mark_broken(parser->getContext());
    skip_to_resume(parser);
    while (sync_goes_on(parser)) {
      parser->consume();
      skip_to_resume(parser);
    }
  }

  antlr4::Token* recoverInline(antlr4::Parser* parser) override { throw antlr4::InputMismatchException(parser); }

  // Called by the parser in front of every choice. In a phrase that holds lines it checks that the next
  // line can begin here, so that a bad line never ends the phrase.
  void sync(antlr4::Parser* parser) override {
    std::size_t rule = parser->getContext()->getRuleIndex();
    if (rule != RlFlowParser::RuleFile && rule != RlFlowParser::RuleBlock && rule != RlFlowParser::RuleSettings) return;
    const antlr4::misc::IntervalSet& here = next_tokens(parser);
    if (here.contains(antlr4::Token::EPSILON)) return;
    if (!here.contains(parser->getTokenStream()->LA(1))) {
      record(parser, parser->getCurrentToken()->getTokenIndex(), here);
      mark_last_broken(parser->getContext());
      skip_to_resume(parser);
    }
    while (parser->getTokenStream()->LA(1) == RlFlowParser::NL && !line_can_begin(parser, rule)) {
      while (parser->getTokenStream()->LA(1) == RlFlowParser::NL) parser->consume();
      skip_to_resume(parser);
    }
  }

 private:
  static const antlr4::misc::IntervalSet& next_tokens(antlr4::Parser* parser) {
    const antlr4::atn::ATN& atn = parser->getATN();
    return atn.nextTokens(atn.states[parser->getState()]);
  }

  bool line_can_begin(antlr4::Parser* parser, std::size_t rule) {
    antlr4::TokenStream* stream = parser->getTokenStream();
    ssize_t ahead = 1;
    while (stream->LA(ahead) == RlFlowParser::NL ||
           (rule == RlFlowParser::RuleSettings && stream->LA(ahead) == RlFlowParser::COMMA))
      ++ahead;
    std::size_t type = stream->LA(ahead);
    if (type == antlr4::Token::EOF || (type == RlFlowParser::RBRACE && rule != RlFlowParser::RuleFile)) return true;
    if (type == RlFlowParser::RLFLOW && rule == RlFlowParser::RuleFile) return !has_header(parser);
    std::size_t item = rule == RlFlowParser::RuleFile    ? RlFlowParser::RuleDecl
                       : rule == RlFlowParser::RuleBlock ? RlFlowParser::RuleStmt
                                                         : RlFlowParser::RuleSetting;
    const antlr4::atn::ATN& atn = parser->getATN();
    const antlr4::misc::IntervalSet& first = atn.nextTokens(atn.ruleToStartState[item]);
    if (first.contains(type)) return true;
    endErrorCondition(parser);  // a new line is a new mistake
    record(parser, stream->LT(ahead)->getTokenIndex(), first);
    return false;
  }

  static bool has_header(antlr4::Parser* parser) {
    for (antlr4::tree::ParseTree* child : parser->getContext()->children) {
      if (dynamic_cast<RlFlowParser::HeaderContext*>(child) != nullptr) return true;
    }
    return false;
  }

  void record(antlr4::Parser* parser, std::size_t at, const antlr4::misc::IntervalSet& expected) {
    if (inErrorRecoveryMode(parser)) return;
    beginErrorCondition(parser);
    SyntaxError error;
    error.at = lexemes_[at];
    if (at > 0) error.before = lexemes_[at - 1];
    if (at > 1) error.earlier = lexemes_[at - 2];
    if (at + 1 < lexemes_.size()) error.next = lexemes_[at + 1];
    error.first = first_of(parser->getContext(), at);
    error.rule = static_cast<Rule>(parser->getContext()->getRuleIndex());
    for (ssize_t type : expected.toList()) error.expected.push_back(terminal_of(static_cast<std::size_t>(type)));
    errors.push_back(std::move(error));
  }

  const Lexeme& first_of(const ParserRuleContext* context, std::size_t at) const {
    for (; context != nullptr; context = dynamic_cast<const ParserRuleContext*>(context->parent)) {
      std::size_t rule = context->getRuleIndex();
      if (rule == RlFlowParser::RuleBlock && is_open(context)) break;
      if (rule == RlFlowParser::RuleStmt || rule == RlFlowParser::RuleDecl)
        return lexemes_[context->start->getTokenIndex()];
    }
    auto ends = [this](std::size_t i) {
      return lexemes_[i].type == Terminal::newline || lexemes_[i].type == Terminal::lbrace;
    };
    while (at > 0 && !ends(at - 1)) --at;
    return lexemes_[at];
  }

  // What stands in front of a token that cannot follow it is not what was meant. A flow and a block keep their lines.
  void mark_last_broken(const ParserRuleContext* context) {
    if (context->getRuleIndex() == RlFlowParser::RuleSettings) broken.insert(context);
    if (context->children.empty()) return;
    auto* last = dynamic_cast<const ParserRuleContext*>(context->children.back());
    if (last == nullptr || last->start == nullptr) return;
    Terminal first = lexemes_[last->start->getTokenIndex()].type;
    if (first != Terminal::k_flow && first != Terminal::k_every) broken.insert(last);
  }

  // A `sync` whose second line begins with `every`, which could also begin a block: only a sync has a lag.
  bool sync_goes_on(antlr4::Parser* parser) const {
    const std::vector<Terminal>& expected = errors.empty() ? kNothing : errors.back().expected;
    std::size_t at = parser->getCurrentToken()->getTokenIndex();
    if (lexemes_[at].type != Terminal::newline || at + 1 >= lexemes_.size()) return false;
    bool cut = !errors.empty() && errors.back().at.begin == lexemes_[at].begin;
    if (!cut || std::find(expected.begin(), expected.end(), Terminal::k_every) == expected.end()) return false;
    for (std::size_t i = at + 1; i < lexemes_.size() && lexemes_[i].type != Terminal::newline; ++i) {
      if (lexemes_[i].type == Terminal::lbrace) return false;
      if (lexemes_[i].type == Terminal::k_lag) return true;
    }
    return false;
  }

  static bool is_open(const antlr4::tree::ParseTree* phrase) {
    for (antlr4::tree::ParseTree* child : phrase->children) {
      auto* leaf = dynamic_cast<antlr4::tree::TerminalNode*>(child);
      if (leaf != nullptr && leaf->getSymbol()->getType() == RlFlowParser::LBRACE) return true;
    }
    return false;
  }

  void mark_broken(const ParserRuleContext* context) {
    for (; context != nullptr; context = dynamic_cast<const ParserRuleContext*>(context->parent)) {
      broken.insert(context);
      std::size_t rule = context->getRuleIndex();
      if (rule == RlFlowParser::RuleSettings || rule == RlFlowParser::RuleStmt || rule == RlFlowParser::RuleDecl)
        return;
    }
  }

  void skip_to_resume(antlr4::Parser* parser) {
    int level = 0;
    bool in_settings = false;
    for (antlr4::tree::ParseTree* up = parser->getContext(); up != nullptr; up = up->parent) {
      bool settings = dynamic_cast<RlFlowParser::SettingsContext*>(up) != nullptr;
      bool braces = settings || dynamic_cast<RlFlowParser::BlockContext*>(up) != nullptr ||
                    dynamic_cast<RlFlowParser::SetDomainContext*>(up) != nullptr;
      if (braces && is_open(up) && level++ == 0) in_settings = settings;
    }
    while (parser->getTokenStream()->LA(1) != antlr4::Token::EOF) {
      std::size_t at = parser->getCurrentToken()->getTokenIndex();
      Terminal type = lexemes_[at].type;
      bool here = depths_.braces[at] <= level;
      if (here && type == Terminal::newline) return;
      if (here && type == Terminal::rbrace && level > 0) return;
      if (here && type == Terminal::comma && in_settings && depths_.parens[at] == 0) return;
      if (type == Terminal::id || (type >= Terminal::k_import && type <= Terminal::k_steps)) {
        unread.push_back(lexemes_[at]);
      }
      parser->consume();
    }
  }

  static inline const std::vector<Terminal> kNothing;
  const std::vector<Lexeme>& lexemes_;
  Depths depths_;
};

SyntaxNode leaf_of(const Lexeme& lexeme) {
  SyntaxNode leaf;
  leaf.is_leaf = true;
  leaf.terminal = lexeme.type;
  leaf.begin = lexeme.begin;
  leaf.end = lexeme.end;
  return leaf;
}

// Copies ANTLR's tree without what was skipped. Recursion is bounded: nesting was checked on the tokens.
SyntaxNode copy_tree(const ParserRuleContext& context, const std::vector<Lexeme>& lexemes,
                     const std::set<const ParserRuleContext*>& broken) {
  SyntaxNode node;
  node.rule = static_cast<Rule>(context.getRuleIndex());
  node.broken = broken.count(&context) > 0;
  if (context.start != nullptr) node.begin = node.end = lexemes[context.start->getTokenIndex()].begin;
  for (antlr4::tree::ParseTree* child : context.children) {
    // The exact types are compared first: a dynamic_cast or two for each node took a quarter of the time of parsing.
    const std::type_info& type = typeid(*child);
    if (type == typeid(antlr4::tree::ErrorNodeImpl)) continue;
    if (type == typeid(antlr4::tree::TerminalNodeImpl)) {
      auto* terminal = dynamic_cast<antlr4::tree::TerminalNode*>(child);
      node.children.push_back(leaf_of(lexemes[terminal->getSymbol()->getTokenIndex()]));
    } else {
      node.children.push_back(copy_tree(static_cast<const ParserRuleContext&>(*child), lexemes, broken));
    }
    node.end = std::max(node.end, node.children.back().end);
  }
  return node;
}

ParserRuleContext* parse_rule(RlFlowParser& parser, Rule start) {
  if (start == Rule::file) return parser.file();
  return parser.value();
}

}  // namespace

std::vector<Lexeme> lex(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::uint32_t skipped = text.starts_with(kByteOrderMark) ? 3 : 0;
  std::vector<std::uint32_t> byte_of;  // of each code point
  for (std::size_t i = skipped; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) byte_of.push_back(static_cast<std::uint32_t>(i));
  }
  byte_of.push_back(static_cast<std::uint32_t>(text.size()));

  antlr4::ANTLRInputStream input{std::string(text.substr(skipped))};
  RlFlowLexer lexer(&input);
  lexer.removeErrorListeners();
  std::vector<Lexeme> lexemes;
  for (auto token = lexer.nextToken(); token->getType() != antlr4::Token::EOF; token = lexer.nextToken()) {
    lexemes.push_back(
        {terminal_of(token->getType()), byte_of[token->getStartIndex()], byte_of[token->getStopIndex() + 1]});
  }
  lexemes.push_back({Terminal::end, byte_of.back(), byte_of.back()});
  return lexemes;
}

SyntaxTree parse_lexemes(const std::vector<Lexeme>& lexemes, Rule start) {
  LexemeSource source(lexemes);
  antlr4::CommonTokenStream stream(&source);
  RlFlowParser parser(&stream);
  parser.removeErrorListeners();
  auto* simulator = parser.getInterpreter<antlr4::atn::ParserATNSimulator>();

  // Programs without errors need only the fast prediction; whatever stops it is read again with the full one.
  simulator->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  try {
    const ParserRuleContext* tree = parse_rule(parser, start);
    if (start == Rule::file || stream.LA(1) == antlr4::Token::EOF) return {copy_tree(*tree, lexemes, {}), {}, {}};
  } catch (const antlr4::ParseCancellationException&) {
  }

  auto recovery = std::make_shared<LineRecovery>(lexemes);
  parser.reset();
  simulator->setPredictionMode(antlr4::atn::PredictionMode::LL);
  parser.setErrorHandler(recovery);
  const ParserRuleContext* tree = parse_rule(parser, start);
  SyntaxTree result{copy_tree(*tree, lexemes, recovery->broken), std::move(recovery->errors),
                    std::move(recovery->unread)};
  if (start != Rule::file && result.errors.empty() && stream.LA(1) != antlr4::Token::EOF) {
    SyntaxError more;
    more.at = lexemes[stream.index()];
    more.expected = {Terminal::end};
    more.rule = start;
    result.errors.push_back(std::move(more));
  }
  return result;
}

}  // namespace rlflow
