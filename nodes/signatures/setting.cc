// How defaults are put into a table.
#include "nodes/signatures/setting.h"

namespace rlflow::signatures {

SettingSpec flag(std::string name, std::string doc) {
  return with_default(setting(std::move(name), SettingType::boolean, {}, std::move(doc)), Value(false));
}

SettingSpec with_default(SettingSpec spec, Value value) {
  spec.fallback.emplace(std::move(value));
  return spec;
}
SettingSpec with_default(SettingSpec spec, int value) {
  return with_default(std::move(spec), Value(std::int64_t{value}));
}
SettingSpec with_default(SettingSpec spec, double value) { return with_default(std::move(spec), Value(value)); }
SettingSpec with_default(SettingSpec spec, const char* word) {
  return with_default(std::move(spec), Value(Word{word}));
}

}  // namespace rlflow::signatures
