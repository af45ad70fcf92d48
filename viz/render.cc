// How does DOT text become a picture? The only file that includes Graphviz.
// The plugins are named one by one and loaded when a picture is drawn: without Graphviz's own configuration,
// installed fonts and extra plugins cannot change the layout of an SVG.
#include "viz/render.h"

#include <dlfcn.h>
#include <graphviz/gvc.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "viz/svg_text.h"

namespace rlflow {
namespace {

struct Plugin {
  const char* file;
  const char* symbol;
};
constexpr Plugin kDotLayout = {"libgvplugin_dot_layout.so.6", "gvplugin_dot_layout_LTX_library"};
constexpr Plugin kCore = {"libgvplugin_core.so.6", "gvplugin_core_LTX_library"};
constexpr Plugin kCairo = {"libgvplugin_pango.so.6", "gvplugin_pango_LTX_library"};
constexpr Plugin kGd = {"libgvplugin_gd.so.6", "gvplugin_gd_LTX_library"};

// Graphviz keeps its plugins in a folder `graphviz` beside libgvc.
std::filesystem::path plugin_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&gvContext), &info) == 0 || info.dli_fname == nullptr) return "graphviz";
  return std::filesystem::path(info.dli_fname).parent_path() / "graphviz";
}

// Null if it is not installed. The library stays loaded: Graphviz holds pointers into it until the process ends.
gvplugin_library_t* load(const Plugin& plugin) {
  const std::string path = (plugin_folder() / plugin.file).string();
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) handle = dlopen(plugin.file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  return static_cast<gvplugin_library_t*>(dlsym(handle, plugin.symbol));
}

// The plugins of a format in the order of preference; an error text if one is missing.
std::string choose_plugins(PictureFormat format, std::vector<lt_symlist_t>& symbols) {
  for (const Plugin& plugin : {kDotLayout, kCore}) {
    gvplugin_library_t* library = load(plugin);
    if (library == nullptr) {
      return std::string("Graphviz's plugin ") + plugin.file + " is not installed (Debian package libgvc6)";
    }
    symbols.push_back({plugin.symbol, library});
  }
  if (format == PictureFormat::png) {
    const Plugin* found = nullptr;
    for (const Plugin* plugin : {&kCairo, &kGd}) {
      gvplugin_library_t* library = load(*plugin);
      if (library == nullptr) continue;
      symbols.push_back({plugin->symbol, library});
      found = plugin;
      break;
    }
    if (found == nullptr) return "PNG needs Graphviz's cairo or gd plugin, which is not installed; write .svg instead";
  }
  symbols.push_back({nullptr, nullptr});
  return {};
}

// With what Graphviz itself said last, on one line.
std::string failure(const std::string& what) {
  char* said = aglasterr();  // ours to free
  std::string reason = said == nullptr ? "" : said;
  std::free(said);
  while (!reason.empty() && std::isspace(static_cast<unsigned char>(reason.back())) != 0) reason.pop_back();
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return "Graphviz " + what + (reason.empty() ? "" : ": " + reason);
}

}  // namespace

Picture render(const std::string& dot, PictureFormat format) {
  std::vector<lt_symlist_t> symbols;
  if (std::string error = choose_plugins(format, symbols); !error.empty()) return {"", error};
  agseterr(AGMAX);  // nothing is printed behind the caller's back
  Agraph_t* graph = agmemread(dot.c_str());
  if (graph == nullptr) return {"", failure("cannot read the drawing")};
  GVC_t* context = gvContextPlugins(symbols.data(), 0);
  Picture picture;
  if (gvLayout(context, graph, "dot") != 0) {
    picture.error = failure("cannot lay out the drawing");
  } else {
    char* data = nullptr;
    unsigned int length = 0;
    const char* name = format == PictureFormat::svg ? "svg" : "png";
    if (gvRenderData(context, graph, name, &data, &length) == 0 && data != nullptr) {
      picture.bytes.assign(data, length);
      if (format == PictureFormat::svg) picture.bytes = center_box_texts(picture.bytes);
    } else {
      picture.error = failure(std::string("cannot draw ") + name);
    }
    gvFreeRenderData(data);
    gvFreeLayout(context, graph);
  }
  agclose(graph);
  gvFreeContext(context);
  return picture;
}

}  // namespace rlflow
