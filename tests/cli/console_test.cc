// How do the events of a run look as lines of text?
#include <gtest/gtest.h>

#include <limits>

#include "cli/console/lines.h"
#include "cli/console/run_view.h"
#include "cli/terminal.h"

namespace rlflow {
namespace {

Plan small_plan() {
  Plan plan;
  plan.flow = "grpo";
  plan.stop_after = 4;
  plan.models.resize(1);
  plan.models[0].name = "policy";
  plan.nodes.resize(3);
  plan.nodes[0].name = "traj";
  plan.nodes[0].op = "rollout";
  plan.nodes[1].name = "step";
  plan.nodes[1].op = "update";
  plan.nodes[1].model = ModelId(0);
  plan.nodes[2].name = "acc";
  plan.nodes[2].op = "evaluate";
  plan.nodes[2].schedule = PlanSchedule{};
  return plan;
}

RunEvent committed(Step step, std::vector<Metric> metrics) {
  RunEvent event;
  event.type = RunEvent::Type::step_committed;
  event.step = step;
  event.milliseconds = 500;
  event.metrics = std::move(metrics);
  return event;
}

RunEvent opened() {
  RunEvent event;
  event.type = RunEvent::Type::opened;
  event.text = "runs/calm";
  event.total = 4;
  return event;
}

TEST(Console, AStepIsOneLine) {
  Plan plan = small_plan();
  RunView view = new_view(plan);
  apply(view, opened());
  RunEvent event = committed(2, {{"r.reward/mean", 0.5}, {"traj.response_length/mean", 12.25}, {"step.loss", -0.25}});
  apply(view, event);
  EXPECT_EQ(plain_line(view, event, plan), "step 2/4  reward 0.500  length 12.25  loss -0.250  0.50 s/step  0:01 left");
}

// Found in the first whole run: the step's length was that of the evaluation.
TEST(Console, EvaluationsAreNotMetricsOfTheStep) {
  Plan plan = small_plan();
  RunView view = new_view(plan);
  apply(view, committed(1, {{"acc.response_length/mean", 99}, {"traj.response_length/mean", 9}}));
  EXPECT_EQ(latest(view, "response_length/mean"), 9);
  EXPECT_EQ(view.length.values, std::vector<double>{9});
}

TEST(Console, EvaluationsNameTheirNodeAndShowASample) {
  Plan plan = small_plan();
  RunView view = new_view(plan);
  RunEvent event;
  event.type = RunEvent::Type::evaluated;
  event.node = NodeId(2);
  event.step = 4;
  event.metrics = {{"accuracy", 0.75}};
  event.samples = {{"1+1=", "\x1b[2J2", 1.0}};
  apply(view, event);
  EXPECT_EQ(plain_line(view, event, plan), "eval 4/4  acc  accuracy 0.750  1+1= -> \\x1b[2J2  [1.00]");
}

TEST(Console, LiveLinesFitTheTerminalWithAndWithoutUnicode) {
  Plan plan = small_plan();
  RunView view = new_view(plan);
  apply(view, opened());
  for (Step step = 1; step <= 3; ++step)
    apply(view, committed(step, {{"r.reward/mean", 0.1 * static_cast<double>(step)}}));
  view.sample = Sample{"347+586=", std::string(300, '9'), 0.0};
  view.warnings = {"a long warning " + std::string(300, 'w')};
  for (bool unicode : {true, false}) {
    for (int width : {20, 40, 80, 200}) {
      Terminal terminal{true, false, unicode, width};
      for (const std::string& line : live_lines(view, terminal)) {
        std::size_t points = 0;
        for (char c : line) {
          points += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
          EXPECT_TRUE(unicode || static_cast<unsigned char>(c) < 0x80) << line;
        }
        EXPECT_LT(points, static_cast<std::size_t>(width)) << line;
      }
    }
  }
}

TEST(Console, TheEndSaysWhatToTypeNext) {
  Plan plan = small_plan();
  RunView view = new_view(plan);
  apply(view, opened());
  apply(view, committed(4, {}));
  Outcome done;
  std::vector<std::string> lines = closing_lines(view, plan, done, {"rlflow", "calm"}, 61);
  EXPECT_EQ(lines.front(), "done    4 of 4 steps in 1:01");
  EXPECT_EQ(lines[2], "next    rlflow show calm");
  Outcome paused;
  paused.code = ExitCode::interrupted;
  EXPECT_EQ(closing_lines(view, plan, paused, {"rlflow", "calm"}, 1).back(), "next    rlflow resume calm");
}

TEST(Console, SparklinesAndNumbers) {
  EXPECT_EQ(sparkline({0, 1}, 8, true), "▁█");
  EXPECT_EQ(sparkline({5, 0, 1}, 2, false), "_#");
  EXPECT_EQ(sparkline({3, 3}, 8, true), "▅▅");
  EXPECT_EQ(number_text(0.00015), "1.50e-04");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(clock_text(3723), "1:02:03");
}

TEST(Console, ClippingCountsCodePoints) {
  EXPECT_EQ(clipped("äöü", 3, true), "äöü");
  EXPECT_EQ(clipped("äöüß", 3, true), "äö…");
  EXPECT_EQ(clipped("abcdefgh", 5, false), "ab...");
}

}  // namespace
}  // namespace rlflow
