// From logits to tokens and their log-probabilities on the device, and what follows from a token for its row.
//
// All pointers are device pointers; every function enqueues on `stream`. The noise of entry v is −ln(−ln u) with u of
// word v%4 of Philox4x32-10 at counter {v/4, position, 0, 0} under the response's key, as on the CPU.
#pragma once

#include <cstdint>

#include "nodes/cuda/decode_rows.h"

namespace rlflow::cuda {

inline constexpr int kMostEndIds = 32;

// Read by the kernels from device memory, so that a captured graph serves any settings.
struct SamplerSettings {
  float inverse_temperature;
  std::int32_t greedy;  // 1: the most likely token, no noise
  std::int64_t top_k;   // 0: all
  double top_p;         // 1: all
  double min_p;         // 0: all
  std::int32_t min_new, max_new;
  std::int32_t end_count;
  std::int32_t end_ids[kMostEndIds];
};

// One draw: from which row of logits, of which response, how many tokens that response has.
struct Draw {
  std::int32_t row;  // below 0: none
  std::int32_t position;
  std::uint64_t key;
};

struct Drawn {
  std::int32_t token;
  float logprob;  // of softmax(z/T) over the whole vocabulary
};

// What a tile of the vocabulary leaves of one draw: max and Σe^(·−max) of z/T, and the best of z/T + noise.
struct DrawPart {
  float top, mass;
  float best;
  std::int32_t token;
  float logit;  // z of that token
  std::int32_t unused[3];
};

inline constexpr int kDrawTile = 4096;  // entries of a part of draw_parts

inline int draw_tiles(int vocabulary) { return (vocabulary + kDrawTile - 1) / kDrawTile; }

// floors f32[draws]: the least logit that top_k, top_p and min_p keep; −∞ where they keep all.
void sampling_floors(const Stream& stream, const Draw* draws, int count, const float* logits, int vocabulary,
                     const SamplerSettings* settings, float* floors);

// parts [draws, draw_tiles]; `floors` may be null.
void draw_parts(const Stream& stream, const Draw* draws, int count, const float* logits, int vocabulary,
                const SamplerSettings* settings, const float* floors, DrawPart* parts);

// drawn [draws] of the parts [draws, tiles], ties to the lower token.
void combine_parts(const Stream& stream, const Draw* draws, int count, const DrawPart* parts, int tiles,
                   const SamplerSettings* settings, Drawn* drawn);

// The same for draws 0 … count−1 that belong to rows of these numbers, and then: the row reads its token next, and is
// idle after an end token or max_new of them. produced[row] counts; drawn [capacity, most_steps], row by row.
struct RowProgress {
  StepRow* rows;
  Draw* draws;
  std::int32_t* produced;
  Drawn* drawn;
  int most_steps;
};
void combine_and_advance(const Stream& stream, int count, const DrawPart* parts, int tiles,
                         const SamplerSettings* settings, const RowProgress& progress);

}  // namespace rlflow::cuda
