// Are messages cut out of the byte stream as the protocol says?
#include "cli/lsp/framing.h"

#include <gtest/gtest.h>

#include <sstream>

namespace rlflow::lsp {
namespace {

TEST(Framing, ReadsMessagesOneBehindTheOther) {
  std::istringstream in("Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:3\r\n\r\n[1]");
  EXPECT_EQ(read_message(in), "{}");
  EXPECT_EQ(read_message(in), "[1]");
  EXPECT_EQ(read_message(in), std::nullopt);
}

TEST(Framing, LengthIsInBytes) {
  std::ostringstream out;
  write_message(out, "\xC3\xA9");
  EXPECT_EQ(out.str(), "Content-Length: 2\r\n\r\n\xC3\xA9");
}

TEST(Framing, WhatCannotBeReadIsAnError) {
  for (const char* text : {"hello\r\n\r\n", "Content-Length: x\r\n\r\n", "Content-Length: -1\r\n\r\n",
                           "Content-Length: 9\r\n\r\nshort", "Content-Length: 99999999999\r\n\r\n", "Content-Length: 2",
                           "Content-Type: x\r\n\r\n{}", "Content-Length:\r\n\r\n"}) {
    std::istringstream in(text);
    EXPECT_THROW(read_message(in), FramingError) << text;
  }
}

}  // namespace
}  // namespace rlflow::lsp
