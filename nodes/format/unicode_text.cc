// UTF-8 by hand; classes and normal forms by utf8proc.
#include "nodes/format/unicode_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>
#include <new>

namespace rlflow {
namespace {

enum class Class { letter, number, mark, connector, other };

Class class_of(std::uint32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return Class::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return Class::number;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return Class::mark;
    case UTF8PROC_CATEGORY_PC: return Class::connector;
    default: return Class::other;
  }
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Bytes that follow `lead`, and the bounds of the first of them; none for a byte that begins no character.
struct Sequence {
  std::size_t following = 0;
  unsigned char lo = 0x80, hi = 0xbf;
};

Sequence sequence_of(unsigned char lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {1};
  if (lead >= 0xe0 && lead <= 0xef) {
    return {2, static_cast<unsigned char>(lead == 0xe0 ? 0xa0 : 0x80),
            static_cast<unsigned char>(lead == 0xed ? 0x9f : 0xbf)};
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    return {3, static_cast<unsigned char>(lead == 0xf0 ? 0x90 : 0x80),
            static_cast<unsigned char>(lead == 0xf4 ? 0x8f : 0xbf)};
  }
  return {0};
}

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

}  // namespace

std::uint32_t next_character(std::string_view text, std::size_t& at) {
  auto byte = [&] { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at++])); };
  const std::uint32_t lead = byte();
  if (lead < 0x80) return lead;
  std::uint32_t character = lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0x0f : lead & 0x07;
  for (int rest = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3; rest > 0 && at < text.size(); --rest) {
    character = character << 6 | (byte() & 0x3f);
  }
  return character;
}

void append_character(std::string& text, std::uint32_t c) {
  auto push = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return push(c);
  if (c < 0x800) {
    push(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      push(0xe0 | c >> 12);
    } else {
      push(0xf0 | c >> 18);
      push(0x80 | (c >> 12 & 0x3f));
    }
    push(0x80 | (c >> 6 & 0x3f));
  }
  push(0x80 | (c & 0x3f));
}

bool is_letter(std::uint32_t c) {
  if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
  return class_of(c) == Class::letter;
}

bool is_number(std::uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return class_of(c) == Class::number;
}

bool is_white_space(std::uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
         c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_word(std::uint32_t c) {
  switch (class_of(c)) {
    case Class::letter:
    case Class::mark:
    case Class::connector: return true;
    case Class::number: {
      const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
      return category != UTF8PROC_CATEGORY_NO;
    }
    case Class::other: break;
  }
  // Join_Control, and the circled and squared letters, which are Alphabetic.
  return c == 0x200c || c == 0x200d || (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

std::size_t append_valid_utf8(std::string& text, std::string_view bytes, bool last) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[at]);
    if (lead < 0x80) {
      text += bytes[at++];
      continue;
    }
    const Sequence sequence = sequence_of(lead);
    std::size_t length = 1;
    while (length <= sequence.following && at + length < bytes.size()) {
      const auto byte = static_cast<unsigned char>(bytes[at + length]);
      if (length == 1 ? byte < sequence.lo || byte > sequence.hi : (byte & 0xc0) != 0x80) break;
      ++length;
    }
    const bool whole = sequence.following > 0 && length == sequence.following + 1;
    if (!whole && !last && sequence.following > 0 && at + length == bytes.size()) return at;
    text += whole ? bytes.substr(at, length) : kReplacement;
    at += length;
  }
  return at;
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  append_valid_utf8(text, bytes, true);
  return text;
}

std::string normal_form(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  int options = UTF8PROC_STABLE;
  switch (form) {
    case NormalForm::nfc: options |= UTF8PROC_COMPOSE; break;
    case NormalForm::nfd: options |= UTF8PROC_DECOMPOSE; break;
    case NormalForm::nfkc: options |= UTF8PROC_COMPOSE | UTF8PROC_COMPAT; break;
    case NormalForm::nfkd: options |= UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT; break;
  }
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &made, static_cast<utf8proc_option_t>(options));
  std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owned(made, std::free);
  if (length < 0) throw std::bad_alloc();  // valid UTF-8 has no other failure
  return std::string(reinterpret_cast<const char*>(made), static_cast<std::size_t>(length));
}

std::string lowercase(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t c = next_character(text, at);
    if (c == 0x130) {
      lower += "i\xcc\x87";  // the one character whose lower case is two
    } else {
      append_character(lower, static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  }
  return lower;
}

}  // namespace rlflow
