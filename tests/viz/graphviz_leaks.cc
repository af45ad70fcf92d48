// Which leaks are not ours? Graphviz 2.42 and what its PNG plugin uses keep memory until the process ends.
extern "C" const char* __lsan_default_suppressions();

extern "C" const char* __lsan_default_suppressions() {
  return "leak:libgvc.so\nleak:libcgraph.so\nleak:libcdt.so\nleak:libgvplugin_\nleak:libfontconfig.so\nleak:libpango\n"
         "leak:libcairo.so\nleak:libglib-2.0.so\nleak:libgobject-2.0.so\n";
}
