// Are the programs of the reference read without ambiguity?
#include <antlr4-runtime.h>
#include <gtest/gtest.h>

#include "grammar/RlFlowLexer.h"
#include "grammar/RlFlowParser.h"
#include "tests/compiler/support.h"

namespace rlflow::testing {
namespace {

class Ambiguities final : public antlr4::BaseErrorListener {
 public:
  std::vector<std::string> found;

  void syntaxError(antlr4::Recognizer*, antlr4::Token* at, std::size_t line, std::size_t column,
                   const std::string& message, std::exception_ptr) override {
    found.push_back(std::to_string(line) + ":" + std::to_string(column) + " " + message + (at ? "" : " (lexer)"));
  }
  void reportAmbiguity(antlr4::Parser* parser, const antlr4::dfa::DFA& dfa, std::size_t, std::size_t, bool,
                       const antlrcpp::BitSet&, antlr4::atn::ATNConfigSet*) override {
    found.push_back("ambiguous in " + parser->getRuleNames()[dfa.atnStartState->ruleIndex]);
  }
};

TEST(Grammar, TheProgramsOfTheReferenceAreUnambiguous) {
  for (const fs::path& path : all_programs()) {
    antlr4::ANTLRInputStream input(read_file(path));
    grammar::RlFlowLexer lexer(&input);
    antlr4::CommonTokenStream tokens(&lexer);
    grammar::RlFlowParser parser(&tokens);
    Ambiguities ambiguities;
    parser.removeErrorListeners();
    parser.addErrorListener(&ambiguities);
    auto* simulator = parser.getInterpreter<antlr4::atn::ParserATNSimulator>();
    simulator->setPredictionMode(antlr4::atn::PredictionMode::LL_EXACT_AMBIG_DETECTION);
    parser.file();
    EXPECT_TRUE(ambiguities.found.empty()) << path << ": " << ambiguities.found[0];
  }
}

}  // namespace
}  // namespace rlflow::testing
