// Bytes of a run that change by themselves: is each run either sound, with the right bits in the end, or refused with
// a reason? Never a crash, never other bits, never silence.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>

#include "runtime/store/database.h"
#include "runtime/store/fsck.h"
#include "tests/runtime/crash_points.h"
#include "tests/runtime/disk_image.h"
#include "tests/runtime/run_trace.h"
#include "tests/support/process.h"
#include "tests/support/test_size.h"

namespace rlflow {
namespace {

namespace fs = std::filesystem;
using testing::Draw;

enum class End { sound, refused, silent, crashed };

Plan small_plan() {
  testing::PlanShape shape;
  shape.steps = 4;
  shape.two_groups = true;
  shape.critic = true;
  shape.checkpoint_every = 2;
  shape.keep = 2;
  return testing::fake_plan(shape);
}

class Damage : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> points = testing::points_of(plan_, base_ / "whole", false);
    whole_ = testing::trace_of(base_ / "whole");
    // In the middle of the third step.
    ASSERT_TRUE(testing::die_at(plan_, base_ / "killed", false, static_cast<std::int64_t>(points.size() * 5 / 8)));
    testing::copy_folder(base_ / "killed", base_ / "checkpointed");
    in_child([this] {
      Database database(base_ / "checkpointed" / "state.db", Database::Mode::write);
      database.checkpoint_passive();
      _exit(0);  // the log stays, as after a kill
    });
  }

  static int in_child(const std::function<void()>& work) {
    std::fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      work();
      _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // Resumes the damaged run in `run_dir` in a process of its own.
  End resume(const fs::path& run_dir) {
    int code = in_child([&] { _exit(static_cast<int>(resumed(run_dir))); });
    return code >= 0 && code <= 2 ? static_cast<End>(code) : End::crashed;
  }
  End resumed(const fs::path& run_dir) {
    Outcome outcome = testing::run_fake(plan_, run_dir, true, EngineOptions::Threads::seeded);
    if (outcome.code != ExitCode::yes) {
      if (outcome.message.empty() || outcome.code_id.empty()) std::printf("refused without a reason\n");
      return outcome.message.empty() || outcome.code_id.empty() ? End::silent : End::refused;
    }
    try {
      PosixFiles files;
      FsckReport report = fsck(files, run_dir, true);
      if (!report.problems.empty()) return End::refused;  // fsck names it
      std::map<std::string, std::string> trace = testing::trace_of(run_dir);
      if (trace == whole_) return End::sound;
      for (const auto& [name, value] : whole_) {
        if (trace[name] != value)
          std::printf("%s is `%s`, not `%s`\n", name.c_str(), trace[name].c_str(), value.c_str());
      }
    } catch (const StoreError& error) {
      return End::refused;
    }
    std::fflush(nullptr);
    return End::silent;
  }

  // Tries the damage on a fresh copy of `from`.
  void try_damage(const fs::path& from, const fs::path& file, const std::string& what,
                  const std::function<void(const fs::path&)>& damage) {
    testing::copy_folder(from, base_ / "run");
    damage(base_ / "run" / file);
    End end = resume(base_ / "run");
    ++tried_[static_cast<int>(end)];
    EXPECT_TRUE(end == End::sound || end == End::refused)
        << (end == End::crashed ? "crash: " : "silent: ") << what << " of " << file << " in " << from.filename();
  }

  // One bit in each region of the file.
  void flip_regions(const fs::path& from, const fs::path& file, std::uint64_t most) {
    std::uint64_t size = fs::file_size(from / file);
    std::uint64_t region = std::max<std::uint64_t>(1, size / (testing::long_size() ? most * 16 : most));
    for (std::uint64_t begin = 0; begin < size; begin += region) {
      std::uint64_t at =
          begin + static_cast<std::uint64_t>(draw_.below(static_cast<int>(std::min(region, size - begin))));
      int bit = draw_.below(8);
      try_damage(from, file, "bit " + std::to_string(bit) + " at byte " + std::to_string(at),
                 [&](const fs::path& path) {
                   std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
                   stream.seekg(static_cast<std::streamoff>(at));
                   char byte = static_cast<char>(stream.get() ^ (1 << bit));
                   stream.seekp(static_cast<std::streamoff>(at));
                   stream.put(byte);
                 });
    }
  }

  static std::vector<fs::path> files_in(const fs::path& from) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(from)) {
      if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), from));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  void report(const char* what) {
    std::printf("%s: %d sound in the end, %d refused, %d silently different, %d crashes\n", what, tried_[0], tried_[1],
                tried_[2], tried_[3]);
  }

  testing::ScratchFolder folder_{"damage"};
  fs::path base_ = fs::canonical(folder_.path());
  Plan plan_ = small_plan();
  std::map<std::string, std::string> whole_;
  Draw draw_{41};
  std::map<int, int> tried_;
};

TEST_F(Damage, ABitOfTheDatabaseOfAFinishedRun) {
  flip_regions(base_ / "whole", "state.db", 500);
  report("state.db of a finished run");
}

TEST_F(Damage, ABitOfTheDatabaseOfAKilledRun) {
  flip_regions(base_ / "checkpointed", "state.db", 200);
  report("state.db, log checkpointed");
  flip_regions(base_ / "killed", "state.db", 60);
  report("and state.db, log not checkpointed");
}

TEST_F(Damage, ABitOfTheLog) {
  flip_regions(base_ / "killed", "state.db-wal", 100);
  report("state.db-wal");
  flip_regions(base_ / "checkpointed", "state.db-wal", 150);
  report("and state.db-wal, checkpointed");
}

TEST_F(Damage, ABitOfEveryOtherFile) {
  for (const fs::path& file : files_in(base_ / "killed")) {
    if (!file.string().starts_with("state.db") || file.string().ends_with("shm")) {
      flip_regions(base_ / "killed", file, 2);
    }
  }
  report("other files");
}

TEST_F(Damage, FilesThatAreGoneCutOrLonger) {
  for (const fs::path& file : files_in(base_ / "killed")) {
    try_damage(base_ / "killed", file, "removal", [](const fs::path& path) { fs::remove(path); });
    auto size = fs::file_size(base_ / "killed" / file);
    for (std::uintmax_t left : {std::uintmax_t{0}, size / 2, size - std::min<std::uintmax_t>(size, 1), size + 1}) {
      try_damage(base_ / "killed", file, "resizing to " + std::to_string(left),
                 [left](const fs::path& path) { fs::resize_file(path, left); });
    }
  }
  report("gone, cut or longer");
}

}  // namespace
}  // namespace rlflow
