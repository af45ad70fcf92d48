// Are safetensors written the same way every time, and refused when they lie?
#include "nodes/format/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rlflow {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(header.size() >> (8 * i));
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

void expect_refused(const std::string& header, std::size_t data_bytes, const std::string& reason) {
  const std::vector<std::byte> bytes = file_of(header, data_bytes);
  EXPECT_THAT([&] { SafetensorsFile(bytes, "x"); }, ThrowsMessage<FormatError>(HasSubstr(reason))) << header;
}

TEST(Safetensors, ReadsWhatItWrote) {
  const std::vector<float> a = {1.5f, -2.0f};
  const std::vector<std::uint8_t> b = {7, 8, 9};
  VectorSink sink;
  write_safetensors(sink, {vector_view("b", b), vector_view("a", a)}, {{"k", "v"}});
  const SafetensorsFile file(sink.bytes, "x");
  EXPECT_EQ(file.vector_at<float>("a"), a);
  EXPECT_EQ(file.vector_at<std::uint8_t>("b"), b);
  EXPECT_EQ(file.metadata_at("k"), "v");
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Safetensors, TheOrderOfTensorsDoesNotReachTheBytes) {
  const std::vector<float> a = {1}, b = {2};
  const std::vector<std::uint8_t> mask = {1};
  VectorSink one, two;
  write_safetensors(one, {vector_view("a", a), vector_view("m", mask), vector_view("b", b)}, {});
  write_safetensors(two, {vector_view("m", mask), vector_view("b", b), vector_view("a", a)}, {});
  EXPECT_EQ(one.bytes, two.bytes);
}

TEST(Safetensors, TheBytesAreTheFormatsOwn) {
  const std::vector<std::uint8_t> a = {5};
  VectorSink sink;
  write_safetensors(sink, {vector_view("a", a)}, {});
  // Padded with spaces so that the data starts at a multiple of 8.
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  ASSERT_EQ(sink.bytes.size(), 8 + (header.size() + 7) / 8 * 8 + 1);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(sink.bytes.data()) + 8, header.size()), header);
  EXPECT_EQ(sink.bytes.back(), std::byte{5});
}

TEST(Safetensors, RefusesLyingHeaders) {
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  expect_refused(entry("[2]", "[0,4]"), 4, "do not hold its shape");
  expect_refused(entry("[1]", "[4,8]"), 8, "begins at data offset 4");
  expect_refused(entry("[1]", "[0,4]"), 3, "describes 4 bytes of tensors, the file holds 3");
  expect_refused(entry("[1]", "[0,4]"), 5, "the file holds 5");
  expect_refused(entry("[1]", "[4,0]"), 4, "do not hold its shape");
  expect_refused(entry("[4611686018427387904,4]", "[0,0]"), 0, "2^64 or more");
  expect_refused(entry("[-1]", "[0,4]"), 4, "not a whole number");
  expect_refused(entry("[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "at most 8");
  expect_refused(entry("[1]", "[0,4.5]"), 4, "not a whole number");
  expect_refused(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4, "unknown dtype");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1]}})", 4, "exactly dtype, shape and data_offsets");
  expect_refused("[]", 0, "not an object");
  expect_refused("{", 0, "not valid JSON");
  expect_refused(R"({"__metadata__":{"a":1}})", 0, "not a string");
}

TEST(Safetensors, RefusesOverlapAndDuplicates) {
  expect_refused(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3,
      "begins at data offset 1, the one before ends at 2");
  expect_refused(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2,
      "stands twice");
}

TEST(Safetensors, RefusesFilesCutShort) {
  const std::vector<float> a = {1, 2, 3};
  VectorSink sink;
  write_safetensors(sink, {vector_view("a", a)}, {});
  for (std::size_t size = 0; size < sink.bytes.size(); ++size) {
    EXPECT_THROW(SafetensorsFile(std::span(sink.bytes).first(size), "x"), FormatError) << size;
  }
}

TEST(Safetensors, RefusesAHeaderBeyondTheLimitWithoutReadingIt) {
  std::vector<std::byte> bytes(8, std::byte{0xff});
  EXPECT_THAT([&] { SafetensorsFile(bytes, "x"); }, ThrowsMessage<FormatError>(HasSubstr("the limit is 16777216")));
}

}  // namespace
}  // namespace rlflow
