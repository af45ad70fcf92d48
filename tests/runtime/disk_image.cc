// A disk in memory, as it is and as it would be after a power loss.
#include "tests/runtime/disk_image.h"

#include <algorithm>
#include <fstream>

#include "runtime/contract/check.h"

namespace rlflow::testing {

namespace fs = std::filesystem;

DiskImage::DiskImage(fs::path root, bool load_it) : root_(std::move(root)), top_(std::make_shared<Entry>()) {
  top_->folder = true;
  if (load_it) load(*top_, root_);
}

void DiskImage::load(Entry& folder, const fs::path& path) {
  for (const auto& found : fs::directory_iterator(path)) {
    auto entry = std::make_shared<Entry>();
    entry->folder = found.is_directory();
    if (entry->folder) {
      load(*entry, found.path());
    } else {
      entry->now = entry->durable = PosixFiles().read(found.path());
    }
    folder.names[found.path().filename().string()] = entry;
  }
  folder.durable_names = folder.names;
}

std::shared_ptr<DiskImage::Entry> DiskImage::find(const fs::path& path) const {
  std::shared_ptr<Entry> at = top_;
  for (const fs::path& part : path.lexically_relative(root_)) {
    if (part == ".") continue;
    auto next = at->names.find(part.string());
    if (next == at->names.end()) return nullptr;
    at = next->second;
  }
  return at;
}

DiskImage::Names& DiskImage::names_above(const fs::path& path) {
  auto folder = find(path.parent_path());
  RLFLOW_CHECK(folder && folder->folder, "no folder for " + path.string());
  return folder->names;
}

void DiskImage::change(Bytes& bytes, const DiskOp& op) {
  if (op.kind == DiskOp::Kind::truncate) return bytes.resize(op.offset);
  bytes.resize(std::max<std::size_t>(bytes.size(), op.offset + op.data.size()));
  std::copy(op.data.begin(), op.data.end(), bytes.begin() + static_cast<std::ptrdiff_t>(op.offset));
}

void DiskImage::apply(const DiskOp& op) {
  const std::string name = op.path.filename().string();
  switch (op.kind) {
    case DiskOp::Kind::note: return;
    case DiskOp::Kind::create: names_above(op.path)[name] = std::make_shared<Entry>(); return;
    case DiskOp::Kind::make_folder: {
      auto& entry = names_above(op.path)[name];
      if (entry) return;
      entry = std::make_shared<Entry>();
      entry->folder = true;
      return;
    }
    case DiskOp::Kind::remove:
    case DiskOp::Kind::remove_folder: names_above(op.path).erase(name); return;
    case DiskOp::Kind::rename: {
      auto moved = names_above(op.path).extract(name);
      names_above(op.to)[op.to.filename().string()] = moved.mapped();
      return;
    }
    case DiskOp::Kind::link: names_above(op.to)[op.to.filename().string()] = find(op.path); return;
    case DiskOp::Kind::write:
    case DiskOp::Kind::truncate: {
      auto file = find(op.path);
      change(file->now, op);
      file->pending.push_back(op);
      return;
    }
    case DiskOp::Kind::sync: {
      auto file = find(op.path);
      if (!file->pending.empty()) ++durable_changes_;
      file->durable = file->now;
      file->pending.clear();
      return;
    }
    case DiskOp::Kind::sync_folder: {
      auto folder = find(op.path);
      if (folder->durable_names != folder->names) ++durable_changes_;
      folder->durable_names = folder->names;
      return;
    }
  }
}

DiskImage::Names DiskImage::chosen_names(const Entry& folder, const Choice& choice) {
  if (choice.keep == Keep::durable) return folder.durable_names;
  if (choice.keep == Keep::all) return folder.names;
  Names all = folder.durable_names;
  all.insert(folder.names.begin(), folder.names.end());
  Names chosen;
  for (const auto& [name, any] : all) {
    const Names& from = choice.draw->below(2) == 0 ? folder.names : folder.durable_names;
    if (auto entry = from.find(name); entry != from.end()) chosen[name] = entry->second;
  }
  return chosen;
}

DiskImage::Bytes DiskImage::chosen_bytes(const Entry& file, const Choice& choice) {
  constexpr std::size_t kSector = 512;
  if (choice.keep == Keep::all) return file.now;
  Bytes bytes = file.durable;
  if (choice.keep == Keep::durable) return bytes;
  for (const DiskOp& op : file.pending) {
    if (choice.draw->below(2) == 0) continue;
    DiskOp kept = op;
    if (op.data.size() > kSector && choice.draw->below(2) == 0) {
      int sectors = choice.draw->below(static_cast<int>(op.data.size() / kSector));
      kept.data.resize(kSector * static_cast<std::size_t>(sectors));
    }
    change(bytes, kept);
  }
  return bytes;
}

void DiskImage::save(const Entry& folder, const fs::path& path, const Choice& choice) {
  fs::create_directory(path);
  for (const auto& [name, entry] : chosen_names(folder, choice)) {
    if (entry->folder) {
      save(*entry, path / name, choice);
      continue;
    }
    Bytes bytes = chosen_bytes(*entry, choice);
    std::ofstream(path / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
}

void DiskImage::save_durable(const fs::path& folder) const {
  fs::remove_all(folder);
  save(*top_, folder, {Keep::durable});
}
void DiskImage::save_random(const fs::path& folder, Draw& draw) const {
  fs::remove_all(folder);
  save(*top_, folder, {Keep::by_chance, &draw});
}
void DiskImage::save_now(const fs::path& folder) const {
  fs::remove_all(folder);
  save(*top_, folder, {Keep::all});
}

}  // namespace rlflow::testing
