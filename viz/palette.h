// Which colours does a picture use? One palette for each theme; everything drawn takes its colours from here.
#pragma once

namespace rlflow {

struct Palette {
  const char* background;
  const char* text;
  const char* muted_text;  // subtitles, knobs, edge labels
  const char* node_fill;
  const char* node_line;
  const char* model_fill;
  const char* model_line;
  const char* cluster_fill;
  const char* cluster_line;
  const char* data_edge;
  const char* weights_edge;  // reads
  const char* writer;        // the update that makes v(k), and its edge
  const char* sync;
  const char* tag;  // "every 10 steps"
  const char* broken;
};

inline constexpr Palette kLightPalette = {
    .background = "#ffffff",
    .text = "#1f2933",
    .muted_text = "#616e7c",
    .node_fill = "#ffffff",
    .node_line = "#52606d",
    .model_fill = "#e6f0fb",
    .model_line = "#3e6fa8",
    .cluster_fill = "#f6f8fa",
    .cluster_line = "#cbd2d9",
    .data_edge = "#323f4b",
    .weights_edge = "#8aa4c2",
    .writer = "#1d8a4b",
    .sync = "#c8372d",
    .tag = "#8a5a00",
    .broken = "#c8372d",
};

inline constexpr Palette kDarkPalette = {
    .background = "#12181f",
    .text = "#e4e7eb",
    .muted_text = "#9aa5b1",
    .node_fill = "#1f2933",
    .node_line = "#7b8794",
    .model_fill = "#1b3049",
    .model_line = "#6ea8e0",
    .cluster_fill = "#182028",
    .cluster_line = "#3e4c59",
    .data_edge = "#cbd2d9",
    .weights_edge = "#6b8db3",
    .writer = "#3fbf75",
    .sync = "#f0695e",
    .tag = "#e0a83c",
    .broken = "#f0695e",
};

}  // namespace rlflow
